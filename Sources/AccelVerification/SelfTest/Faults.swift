/// The registry of faults that a self test injects.
enum Faults {
    static let weights: [any WeightFault] = [
        ScaledChannel(), SwappedNibbles(), ShiftedZeroPoint(), RotatedRow(), TransposedBlock(), DroppedRow(),
        FlippedBit(), ShiftedBias(), MovedWeight(), ScaledOutlier(), SwappedWeights(), StaleWeight(), RenamedWeight(),
    ]
    static let structures: [any StructureFault] = [
        DroppedOutput(), TransposedOutput(), ReshapedOutput(), LostStateWrite(), WrongStart(), ExchangedNames(),
        WrongEpsilon(), LostEpsilon(), ReplacedAsset(), ForgedSource(), ForgedRecipe(), ForgedReader(),
        RoundedStates(), ForgedStates(),
    ]
    static let plans: [any PlanFault] = [
        WrongWeight(), WrongValue(), LostActivation(), ChangedRounding(), OtherRounding(),
    ]
    static let kernels: [any KernelFault] = [FlippedStateCode(), ChangedStateScale()]
}
