"""Settings of every test. Qt stays out: the tests of `core` run where Qt does not."""

import os

import pytest

# Before anything imports Qt; whoever wants a real screen says so.
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
# Matrices here are small: more threads than one only wait for each other on a busy machine.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Let the settings of pytest-qt stand where the plugin is switched off (-p no:pytest-qt)."""
    if not pluginmanager.hasplugin("pytest-qt"):
        for name in ("qt_api", "qt_log_level_fail", "qt_log_ignore"):
            parser.addini(name, "read by pytest-qt only")
