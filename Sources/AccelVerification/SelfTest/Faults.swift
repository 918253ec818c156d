/// The registry of faults that a self test injects.
enum Faults {
    static let weights: [WeightFault] = [
        .scaledChannel, .swappedNibbles, .shiftedZeroPoint, .rotatedRow, .transposedBlock, .droppedRow,
        .flippedBit, .shiftedBias, .movedWeight, .scaledOutlier, .swappedWeights, .staleWeight, .renamedWeight,
    ]
    static let structures: [StructureFault] = [
        .droppedOutput, .transposedOutput, .reshapedOutput, .lostStateWrite, .wrongStart, .exchangedNames,
        .wrongEpsilon, .lostEpsilon, .replacedAsset, .forgedSource, .forgedRecipe, .forgedReader,
        .roundedStates, .forgedStates,
    ]
    static let plans: [PlanFault] = [
        .wrongWeight, .wrongValue, .lostActivation, .changedRounding, .otherRounding,
    ]
    static let kernels: [KernelFault] = [.flippedStateCode, .changedStateScale]
}
