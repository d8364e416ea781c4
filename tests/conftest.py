import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers
from kit.shared_folder import SharedFolder
from kit.times import Times

from dardis.kernels.jit import COMPILE_LISTENER

# What commands say is compared to the letter, and some kernel may be compiled by whichever test needs it first.
COMPILE_LISTENER.quiet = True

# Hypothesis also draws constants of the modules that a process has imported. With several workers these differ from run
# to run, and so would the examples.
assert callable(providers._get_local_constants)
providers._get_local_constants = providers.Constants

# The same examples every time: in the gate some of them, with `--slow` all; `pytest --hypothesis-profile=search` looks
# for new ones, many more of them.
settings.register_profile("repeatable", derandomize=True, deadline=None, max_examples=100, database=None)
settings.register_profile("gate", settings.get_profile("repeatable"), max_examples=30)
settings.register_profile(
    "search", deadline=None, max_examples=3000, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
# The same examples as these; what fails is not made small, for nobody will read it (scripts/lab/run mutate).
UNSHRUNK = (Phase.explicit, Phase.generate)
settings.register_profile("unshrunk", settings.get_profile("repeatable"), phases=UNSHRUNK)
settings.register_profile("gate-unshrunk", settings.get_profile("gate"), phases=UNSHRUNK)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of `./scripts/test --times`."""
    parser.addoption(
        "--times-to",
        type=Path,
        metavar="FILE",
        help="write how many tests of each group passed, and how long they took",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose how many examples there are, where nobody has, and keep the time, where somebody asks."""
    if config.option.times_to is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Times(config.option.times_to))
    if config.getoption("--hypothesis-profile") is None:
        settings.load_profile("gate" if config.getoption("markexpr") == "not slow" else "repeatable")


# A shell makes what it starts in the background deaf to Ctrl-C, and so all that this would start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# So does nohup with the end of a terminal.
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def shared() -> SharedFolder:
    """The folder of real traces, weather and prices beside the checkout; a test is skipped that needs what it lacks."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip(f"needs the data folder {folder}")
    return SharedFolder(folder)


@pytest.fixture(scope="session")
def small_site(tmp_path_factory) -> Path:
    """The files of a small machine with ten days of jobs (`kit.small_site`); nobody changes them."""
    from kit.small_site import write_site

    return write_site(tmp_path_factory.mktemp("small_site"))


@pytest.fixture(scope="session")
def small_plan(small_site, tmp_path_factory) -> Path:
    """What `dardis plan` makes of its day 8, after a short search."""
    from kit.small_site import called

    out = tmp_path_factory.mktemp("small_plan") / "plan"
    assert called("plan", small_site, out, polishes=1, day=8) == 0
    return out


@pytest.fixture(scope="session")
def small_hybrid(small_site, tmp_path_factory) -> Path:
    """What `dardis hybrid` makes of its days 7 and 8, with the report."""
    from kit.small_site import called

    out = tmp_path_factory.mktemp("small_hybrid") / "out"
    assert called("hybrid", small_site, out, days="7-8") == 0
    return out


@pytest.fixture(scope="session")
def small_comparison(tmp_path_factory) -> Path:
    """A folder with a trace t.swf, a platform p.toml, and in o two dispatchers compared with two seeds."""
    from kit.few_nodes import compared

    return compared(tmp_path_factory.mktemp("small_comparison"))
