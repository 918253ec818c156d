import AccelTensors

/// Scratch memory whose content is made from an operand alone, such as rounded rows: the calls of a group that need the same content
/// share it.
struct SharedScratch: Sendable {
    /// The content of the memory.
    struct Content: Equatable {
        /// The form of the content, such as `rounded rows`.
        let form: String
        /// The operand that it is made from.
        let source: Operand
        /// All else that it depends on.
        let parameters: [Int]
        /// The floats of each part of the memory.
        let floats: [Int]

        init(_ form: String, of source: Operand, _ parameters: [Int] = [], floats: [Int]) {
            (self.form, self.source, self.parameters, self.floats) = (form, source, parameters, floats)
        }
    }
    /// Tells it from others of the same group.
    let number: Int
    let parts: [MemoryLocation]
}
