/// A Core ML package before it is written: the model, and the blob file that it refers to.
public struct CoreMLDraft {
    let model: CoreMLModel
    let weights: WeightLowering
    let counts: LoweringCounts
}
