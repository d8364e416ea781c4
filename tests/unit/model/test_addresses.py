from dardis.model.addresses import FIRST_HOST, ONLY_MANAGER, address_of, all_hosts, is_manager, manager_at


def test_every_task_manager_has_an_address_below_all_hosts():
    addresses = [address_of(manager) for manager in range(5)]
    assert [manager_at(address) for address in addresses] == list(range(5))
    assert max(addresses) < 0
    assert addresses[0] == ONLY_MANAGER


def test_nobody_is_both_a_host_and_a_task_manager():
    hosts, managers = all_hosts(5), [address_of(manager) for manager in range(5)]
    assert hosts[0] == FIRST_HOST
    assert len(set(hosts) | set(managers)) == 10
    assert [is_manager(address) for address in (*hosts, *managers)] == [False] * 5 + [True] * 5
