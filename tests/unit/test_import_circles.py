"""No module imports a package that imports it: the contract on circles compares siblings, and does not see these."""

import grimp
import pytest


@pytest.mark.parametrize("name", ["dardis", "offline", "scripts"])
def test_no_module_goes_through_a_package_that_needs_it(name):
    graph = grimp.build_graph(name, cache_dir=None)
    for imported in graph.find_modules_directly_imported_by(name):
        graph.remove_import(importer=name, imported=imported)  # dardis finds its names when they are used, not before
    circles = [
        (module, package)
        for module in graph.modules
        for package in graph.find_modules_directly_imported_by(module)
        if module.startswith(f"{package}.") and graph.chain_exists(importer=package, imported=module)
    ]
    assert circles == []
