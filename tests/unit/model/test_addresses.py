from dardis.model.addresses import ONLY_MANAGER, address_of, manager_at


def test_every_task_manager_has_an_address_below_all_hosts():
    addresses = [address_of(manager) for manager in range(5)]
    assert [manager_at(address) for address in addresses] == list(range(5))
    assert max(addresses) < 0
    assert addresses[0] == ONLY_MANAGER
