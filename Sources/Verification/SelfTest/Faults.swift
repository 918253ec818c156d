/// The registry of faults that a self test injects.
enum Faults {
    static let weights: [any WeightFault] = [
        ScaledChannel(), SwappedNibbles(), ShiftedZeroPoint(), RotatedRow(), TransposedBlock(), DroppedRow(),
        FlippedBit(), ShiftedBias(), MovedWeight(), ScaledOutlier(), SwappedWeights(), StaleWeight(), RenamedWeight(),
    ]
    static let plans: [any PlanFault] = [WrongWeight(), WrongValue(), LostActivation()]
}
