"""Cue sheet of a small theatre. Every effect has one function that checks its settings and writes a cue.

effect   setting      allowed
light    level        0 to 100 per cent
sound    decibels     30 to 95
fog      seconds      1 to 20, only in scenes without an audience on stage
"""

from dataclasses import dataclass


class CueError(ValueError):
    """A setting that the house does not allow."""


@dataclass(frozen=True)
class Cue:
    scene: str
    effect: str
    setting: int


class Sheet:
    def __init__(self, crowded_scenes=()):
        self.crowded_scenes = frozenset(crowded_scenes)
        self.cues = []

    def write(self, cue):
        self.cues.append(cue)
        return len(self.cues)


def cue_light(sheet, scene, level):
    if not 0 <= level <= 100:
        raise CueError(f"light level {level} is not allowed")
    return sheet.write(Cue(scene, "light", level))


def cue_sound(sheet, scene, decibels):
    if not 30 <= decibels <= 95:
        raise CueError(f"sound of {decibels} dB is not allowed")
    return sheet.write(Cue(scene, "sound", decibels))


⟦def cue_fog(sheet, scene, seconds):
    if scene in sheet.crowded_scenes or not 1 <= seconds <= 20:
        raise CueError(f"fog for {seconds} s is not allowed")
    return sheet.write(Cue(scene, "fog", seconds))
⟧

EFFECTS = {"light": cue_light, "sound": cue_sound, "fog": cue_fog}
⟦tests⟧
sheet = Sheet(crowded_scenes=["market"])
assert EFFECTS["light"](sheet, "dawn", 40) == 1
assert EFFECTS["fog"](sheet, "moor", 20) == 2
assert EFFECTS["fog"](sheet, "dawn", 1) == 3
assert EFFECTS["sound"](sheet, "market", 95) == 4
assert sheet.cues[1:3] == [Cue("moor", "fog", 20), Cue("dawn", "fog", 1)]
for scene, seconds in (("moor", 0), ("moor", 21), ("moor", -3), ("market", 5)):
    try:
        cue_fog(sheet, scene, seconds)
    except CueError as error:
        assert str(error) == f"fog for {seconds} s is not allowed"
    else:
        raise AssertionError(f"fog for {seconds} s in the scene {scene}")
assert len(sheet.cues) == 4
