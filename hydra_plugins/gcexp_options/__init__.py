"""Hydra finds gcexp's options, in any app of an environment in which gcexp is installed.

Hydra loads this module in every one of its apps, so that nothing else is imported before an app asks for a config below
``gcexp/``. What our options are to Hydra stands in `gcexp.run.for_hydra`.
"""

from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.object_type import ObjectType
from hydra.errors import ConfigCompositionException
from hydra.plugins.config_source import ConfigResult, ConfigSource
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

_KEY = "gcexp"  # the one of gcexp.run.for_hydra, which is imported only where it is asked for


class GcexpOptions(ConfigSource):
    """The options of gcexp and of the projects that it finds, as configs below ``gcexp/``."""

    @staticmethod
    def scheme() -> str:
        return _KEY

    def available(self) -> bool:
        return True

    def is_group(self, config_path: str) -> bool:
        if not _is_ours(config_path):
            return config_path == ""
        from gcexp.run import for_hydra

        return for_hydra.is_group(config_path)

    def is_config(self, config_path: str) -> bool:
        if not _is_ours(config_path):
            return False
        from gcexp.errors import UserError
        from gcexp.run import for_hydra

        try:
            return for_hydra.is_config(config_path.removesuffix(".yaml"))
        except UserError as error:
            raise ConfigCompositionException(str(error)) from None

    def load_config(self, config_path: str) -> ConfigResult:
        from gcexp.errors import UserError
        from gcexp.run import for_hydra

        try:
            found = for_hydra.config_at(config_path.removesuffix(".yaml"))
        except UserError as error:
            raise ConfigCompositionException(str(error)) from None
        return ConfigResult(
            provider=self.provider,
            path=self.full_path(),
            config=OmegaConf.create(found.values),
            header={"package": "_global_" if found.is_global else None},
        )

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        if not config_path:
            return [_KEY] if results_filter != ObjectType.CONFIG else []
        if not _is_ours(config_path):
            return []
        from gcexp.run import for_hydra
        from gcexp.run.options import GROUPS

        found: set[str] = set()
        if config_path == _KEY and results_filter != ObjectType.CONFIG:
            found.update(GROUPS)
        if results_filter != ObjectType.GROUP:
            found.update(for_hydra.configs_in(config_path))
        return sorted(found)


def _is_ours(config_path: str) -> bool:
    return config_path == _KEY or config_path.startswith(f"{_KEY}/")


class GcexpSearchPath(SearchPathPlugin):
    """Looks for configs among gcexp's options after those of the app."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        search_path.append(provider=_KEY, path=f"{_KEY}://")
