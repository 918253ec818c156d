/// A tensor of a checkpoint that no program reads.
public struct UnusedTensor: Equatable, Sendable {
    /// The name in the checkpoint.
    public var name: String
    /// Why no program reads it.
    public var reason: String
    /// It follows from what the user asked for, a pattern of tensors to ignore or a part of the model, or the tensor is nothing that a
    /// model needs. Packages do not store this.
    public var isExpected: Bool

    /// Creates an entry.
    public init(name: String, reason: String, isExpected: Bool = false) {
        (self.name, self.reason, self.isExpected) = (name, reason, isExpected)
    }
}
