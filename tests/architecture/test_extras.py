"""The extras of the package: each one holds something, and the code knows which."""

from importlib.metadata import distribution, packages_distributions
from typing import get_args

from packaging.requirements import Requirement

from retinue.installation import EXTRA_MODULES, Extra
from tests.support.default_install import default_distributions, needed_by


def test_the_code_knows_every_extra() -> None:
    declared = set(distribution("retinue").metadata.get_all("Provides-Extra") or ())
    assert declared == {*get_args(Extra), "all"}
    assert set(EXTRA_MODULES) == set(get_args(Extra))


def test_each_extra_brings_the_modules_that_are_looked_for_and_the_default_install_none() -> None:
    owners = packages_distributions()
    default = default_distributions()
    for extra, modules in EXTRA_MODULES.items():
        brought = needed_by(Requirement(f"retinue[{extra}]"))
        for module in modules:
            distributions = set(owners[module.partition(".")[0]])
            assert distributions & brought, f"{extra} does not bring {module}"
            assert not distributions & default, f"{module} is in the default install"


def test_all_is_every_extra() -> None:
    together = needed_by(Requirement(f"retinue[{','.join(EXTRA_MODULES)}]"))
    assert needed_by(Requirement("retinue[all]")) == together
