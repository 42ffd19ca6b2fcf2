"""What a .vxa file says of the simulator and of the surroundings; defaults are those of voxcraft-sim."""

from __future__ import annotations

from dataclasses import dataclass

from annelid.voxels3d.files.formulas import Formula
from annelid.voxels3d.files.tags import tag


@dataclass(frozen=True, kw_only=True)
class Simulator:
    """The element `Simulator`.

    Attributes:
        dt_fraction: Time step over the recommended one.
        bond_damping: Damping ratio of links.
        contact_damping: Damping ratio of contacts.
        slow_damping: Damping ratio of motion against the world.
        self_collisions: Whether voxels collide, in files of VoxCAD and evosoro; None where they do not say.
        volume_effects: Whether Poisson's ratio counts.
        stop_type: What ends a run in VoxCAD and evosoro: 0 nothing, 1 steps, 2 seconds, 3 cycles.
        stop_value: How many of these.
        settling: Time after which displacements are measured [s] (evosoro).
        stop: Ends a run once it is above 0; None: nothing does.
        fitness: What a run is worth; None: the distance along the ground [m].
        force_x: Force on each voxel along x [N], from its place and time.
        force_y: Along y.
        force_z: Along z.
        collisions: Whether voxels collide, in files of voxcraft-sim.
        attach: Whether sticky voxels that touch are joined.
        detach: Whether links that failed are removed.
        watch_distance: Where collisions are looked for [voxels].
        bounding_radius: Radius of voxels in collisions [voxels].
        safety_guard: Steps in which new links are weak.
        attach_0: Conditions of joining, and so on.
        record_step: Time between frames of the history [0.1 ms]; 0: none are written.
        record_voxels: Whether frames have voxels.
        record_links: Whether frames have links.
        save_positions: Whether the report has the places of all voxels.
        pair_distance: Distance below which targets count as a pair [voxels].
        expansion: Whether voxels also grow; None where the file does not say.
        cilia: Whether cilia push.
        signals: Whether signals run through voxels.
        secondary: Whether materials are removed and switched on later.
    """

    dt_fraction: float = tag("Integration/DtFrac", 0.9)
    bond_damping: float = tag("Damping/BondDampingZ", 0.1, absent=1.0)
    contact_damping: float = tag("Damping/ColDampingZ", 1.0, absent=0.0)
    slow_damping: float = tag("Damping/SlowDampingZ", 1.0, absent=0.0)
    self_collisions: bool | None = tag("Collisions/SelfColEnabled", None)
    volume_effects: bool = tag("Features/VolumeEffectsEnabled", False)
    stop_type: int = tag("StopCondition/StopConditionType", 0)
    stop_value: float = tag("StopCondition/StopConditionValue", 0.0)
    settling: float = tag("StopCondition/InitCmTime", 0.0)
    stop: Formula | None = tag("StopCondition/StopConditionFormula", None, other="Condition/StopCondition")
    fitness: Formula | None = tag("FitnessFunction", None)
    force_x: Formula | None = tag("ForceField/x_forcefield", None, other="ForceField/x_force_field")
    force_y: Formula | None = tag("ForceField/y_forcefield", None, other="ForceField/y_force_field")
    force_z: Formula | None = tag("ForceField/z_forcefield", None, other="ForceField/z_force_field")
    collisions: bool = tag("AttachDetach/EnableCollision", True)
    attach: bool = tag("AttachDetach/EnableAttach", False)
    detach: bool = tag("AttachDetach/EnableDetach", False)
    watch_distance: float = tag("AttachDetach/watchDistance", 1.0)
    bounding_radius: float = tag("AttachDetach/boundingRadius", 0.75)
    safety_guard: int = tag("AttachDetach/SafetyGuard", 500)
    attach_0: Formula | None = tag("AttachDetach/AttachCondition/Condition_0", None)
    attach_1: Formula | None = tag("AttachDetach/AttachCondition/Condition_1", None)
    attach_2: Formula | None = tag("AttachDetach/AttachCondition/Condition_2", None)
    attach_3: Formula | None = tag("AttachDetach/AttachCondition/Condition_3", None)
    attach_4: Formula | None = tag("AttachDetach/AttachCondition/Condition_4", None)
    record_step: int = tag("RecordHistory/RecordStepSize", 0)
    record_voxels: bool = tag("RecordHistory/RecordVoxel", True)
    record_links: bool = tag("RecordHistory/RecordLink", False)
    save_positions: bool = tag("SavePositionOfAllVoxels", False)
    pair_distance: float = tag("MaxDistInVoxelLengthsToCountAsPair", 0.0)
    expansion: bool | None = tag("EnableExpansion", None)
    cilia: bool = tag("EnableCilia", False)
    signals: bool = tag("EnableSignals", False)
    secondary: bool = tag("SecondaryExperiment", False)


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The element `Environment`, but for its regions.

    Attributes:
        gravity_enabled: Whether gravity acts.
        gravity: Acceleration along z [m/s²].
        floor: Whether there is a floor.
        slope: Slope of the floor [degrees] (evosoro).
        thermal: Whether temperatures count.
        varying: Whether the temperature is a wave.
        base: Temperature at which voxels have their size [°C].
        amplitude: Amplitude of the wave [°C].
        summit: Highest temperature [°C], which files of VoxCAD and evosoro have instead of the amplitude; None where
            the file has an amplitude.
        period: Period of the wave [s].
    """

    gravity_enabled: bool = tag("Gravity/GravEnabled", False, absent=True)
    gravity: float = tag("Gravity/GravAcc", -9.81)
    floor: bool = tag("Gravity/FloorEnabled", False, absent=True)
    slope: float = tag("Gravity/FloorSlope", 0.0)
    thermal: bool = tag("Thermal/TempEnabled", False, absent=True)
    varying: bool = tag("Thermal/VaryTempEnabled", False)
    base: float = tag("Thermal/TempBase", 25.0)
    amplitude: float = tag("Thermal/TempAmplitude", 0.0)
    summit: float | None = tag("Thermal/TempAmp", None)
    period: float = tag("Thermal/TempPeriod", 0.1)

    @property
    def swing(self) -> float:
        """Amplitude of the temperature of voxels [K]."""
        return self.amplitude if self.summit is None else self.summit - self.base


@dataclass(frozen=True, kw_only=True)
class Lattice:
    """The elements `Lattice` and `Voxel` of a `VXC`: the side of cells [m], and what only VoxCAD can do with them."""

    side_length: float = tag("Lattice/Lattice_Dim", 0.001)
    x_scale: float = tag("Lattice/X_Dim_Adj", 1.0)
    y_scale: float = tag("Lattice/Y_Dim_Adj", 1.0)
    z_scale: float = tag("Lattice/Z_Dim_Adj", 1.0)
    x_line_offset: float = tag("Lattice/X_Line_Offset", 0.0)
    y_line_offset: float = tag("Lattice/Y_Line_Offset", 0.0)
    x_layer_offset: float = tag("Lattice/X_Layer_Offset", 0.0)
    y_layer_offset: float = tag("Lattice/Y_Layer_Offset", 0.0)
    shape: str = tag("Voxel/Vox_Name", "BOX")
    x_squeeze: float = tag("Voxel/X_Squeeze", 1.0)
    y_squeeze: float = tag("Voxel/Y_Squeeze", 1.0)
    z_squeeze: float = tag("Voxel/Z_Squeeze", 1.0)

    @property
    def plain(self) -> bool:
        """Whether cells are cubes in rows, as here."""
        return self == Lattice(side_length=self.side_length)


@dataclass(frozen=True, kw_only=True)
class Region:
    """An element `FRegion`: a box, cylinder or ball in which voxels are held, moved or pushed.

    Places and sizes are fractions of the box around all cells. Rows of fields: what it is, where, and what it does.
    """

    kind: int = tag("PrimType", 0)
    x: float = tag("X", 0.0)
    y: float = tag("Y", 0.0)
    z: float = tag("Z", 0.0)
    dx: float = tag("dX", 0.0)
    dy: float = tag("dY", 0.0)
    dz: float = tag("dZ", 0.0)
    radius: float = tag("Radius", 0.0)
    freedoms: int = tag("DofFixed", 0)
    fixed: bool | None = tag("Fixed", None)
    force_x: float = tag("ForceX", 0.0)
    force_y: float = tag("ForceY", 0.0)
    force_z: float = tag("ForceZ", 0.0)
    torque_x: float = tag("TorqueX", 0.0)
    torque_y: float = tag("TorqueY", 0.0)
    torque_z: float = tag("TorqueZ", 0.0)
    move_x: float = tag("DisplaceX", 0.0)
    move_y: float = tag("DisplaceY", 0.0)
    move_z: float = tag("DisplaceZ", 0.0)
    turn_x: float = tag("AngDisplaceX", 0.0)
    turn_y: float = tag("AngDisplaceY", 0.0)
    turn_z: float = tag("AngDisplaceZ", 0.0)

    @property
    def held(self) -> int:
        """Freedoms that it holds, a bit each: x, y, z, about x, y, z."""
        return 63 if self.fixed else self.freedoms & 63
