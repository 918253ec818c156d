/// The form of a whole weight that a product reads: panels. A kernel makes it piece by piece while it runs, unless the model
/// has it already.
struct WeightPacking: Sendable {
    /// The order of the numbers, which names the form among all forms of a weight.
    let layout: String
    /// The index of the input that is the weight.
    let input: Int
    let byteCount: Int
    let panels: Int
    /// Floats of any content that `pack` needs for a panel.
    let scratchFloats: Int
    /// Writes the bytes of a panel to their offsets in the whole.
    let pack: @Sendable (_ panel: Int, _ whole: UnsafeMutableRawPointer, _ scratch: UnsafeMutablePointer<Float>) -> Void
}
