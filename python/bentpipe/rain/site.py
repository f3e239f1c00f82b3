"""A site: an earth station, its path to the satellite and the rain that falls there."""

from __future__ import annotations

from dataclasses import dataclass, fields

from bentpipe.errors import RainError
from bentpipe.rain import maps

RANGES = {
    "latitude_deg": (-90.0, 90.0),
    "altitude_km": (-0.5, 9.0),
    # P.1853-1 is valid for these elevations and frequencies.
    "elevation_deg": (5.0, 90.0),
    "frequency_ghz": (4.0, 55.0),
    "tilt_deg": (0.0, 90.0),
    "rain_rate_mmh": (0.1, 300.0),
    "rain_height_km": (0.1, 10.0),
    "rain_percent": (0.05, 50.0),
}
"""Range of each field. With rain in less than 0.05 % of the time there are too few points to fit a
series to."""


@dataclass(frozen=True, kw_only=True)
class Site:
    """Parameters of a site for the rain models; `RainError` for a value outside of `RANGES`.

    - `latitude_deg`: of the station, north positive
    - `altitude_km`: of the station above the sea
    - `elevation_deg`: of the path above the horizon
    - `frequency_ghz`: of the carrier
    - `tilt_deg`: of the polarisation to the horizontal, 45 for circular
    - `rain_rate_mmh`: R0.01, exceeded 0.01 % of an average year (P.837)
    - `rain_height_km`: hR, above the sea (P.839)
    - `rain_percent`: P0, share of the time in which it rains (P.837)
    """

    latitude_deg: float
    altitude_km: float
    elevation_deg: float
    frequency_ghz: float
    tilt_deg: float = 45.0
    rain_rate_mmh: float
    rain_height_km: float
    rain_percent: float

    def __post_init__(self) -> None:
        for field in fields(self):
            within(field.name, getattr(self, field.name), *RANGES[field.name])
        if self.altitude_km >= self.rain_height_km:
            expected = f"less than the rain height of {self.rain_height_km} km"
            raise RainError("altitude_km", expected, self.altitude_km)

    @classmethod
    def from_maps(
        cls,
        latitude_deg: float,
        longitude_deg: float,
        *,
        altitude_km: float,
        elevation_deg: float,
        frequency_ghz: float,
        tilt_deg: float = 45.0,
    ) -> Site:
        """A site with rain statistics from the maps of the ITU-R; see `bentpipe.rain.maps`.

        `BentpipeError` if the package with the maps is not installed.
        """
        within("latitude_deg", latitude_deg, *RANGES["latitude_deg"])
        within("longitude_deg", longitude_deg, -180.0, 360.0)
        rain = maps.climate(latitude_deg, longitude_deg)
        return cls(
            latitude_deg=latitude_deg,
            altitude_km=altitude_km,
            elevation_deg=elevation_deg,
            frequency_ghz=frequency_ghz,
            tilt_deg=tilt_deg,
            rain_rate_mmh=rain.rate_mmh,
            rain_height_km=rain.height_km,
            rain_percent=rain.percent,
        )


def rain_height_km(latitude_deg: float) -> float:
    """Return the rain height above the sea in km, approximated from the latitude alone.

    The mean height of the 0 degree isotherm of ITU-R P.839-2 (1999), as the source of ITU-Rpy 0.4
    has it. P.839-4 replaced it by a map, which `Site.from_maps` reads; at Spino d'Adda this gives
    3.32 km, and the map 3.34 km. `RainError` near the poles, where the result is below 0.1 km.
    """
    within("latitude_deg", latitude_deg, *RANGES["latitude_deg"])
    if latitude_deg > 23:
        height = 5 - 0.075 * (latitude_deg - 23)
    elif latitude_deg >= -21:
        height = 5.0
    else:
        height = 5 + 0.1 * (latitude_deg + 21)
    low, high = RANGES["rain_height_km"]
    if height < low:
        raise RainError(
            "rain_height_km",
            f"a number from {low:g} to {high:g}",
            f"none for latitude {latitude_deg:g}",
        )
    return height


def within(parameter: str, value: float, low: float, high: float) -> None:
    """Check that the value is between `low` and `high`, and not NaN; `RainError` otherwise."""
    if not low <= value <= high:
        raise RainError(parameter, f"a number from {low:g} to {high:g}", value)


SPINO_DADDA = Site(
    latitude_deg=45.4,
    altitude_km=0.084,
    elevation_deg=31.0,
    frequency_ghz=19.77,
    tilt_deg=45.0,
    rain_rate_mmh=34.231,
    rain_height_km=3.34067,
    rain_percent=6.946,
)
"""Near the station in the Po valley that received Olympus; its rain is that of the ITU-R's maps."""
