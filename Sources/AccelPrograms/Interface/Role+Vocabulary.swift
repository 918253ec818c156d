public import AccelTensors

extension Role {
    /// Returns why a tensor has no tokens of this role's vocabulary; nil if it has, or if the role is another one.
    /// - Parameters:
    ///   - tensor: I64 or I32 [batch, positions].
    ///   - mask: the positions that count, with the shape of `tensor`; nil if all do.
    package func foreignToken(in tensor: StoredTensor, mask: [Bool]? = nil) -> String? {
        guard kind == .tokens, let vocabulary = integer("vocabulary"), [.int64, .int32].contains(tensor.elementType)
        else { return nil }
        let tokens = HostTensor(tensor).integers
        let counts = mask.flatMap { $0.count == tokens.count ? $0 : nil }
        let width = max(tensor.shape.dimensions.last ?? 1, 1)
        for (index, token) in tokens.enumerated() where counts?[index] != false {
            guard token < 0 || token >= vocabulary else { continue }
            let place = "token \(token) (row \(index / width), position \(index % width))"
            guard token >= 0 else {
                return "\(place) is the padding of some tools, and no token: replace it by any token, such as 0, and "
                    + "mask it by attention_mask, or leave it out"
            }
            return "\(place) is not one of the model's \(vocabulary): these are tokens of another model's tokenizer"
        }
        return nil
    }
}
