package import AccelTensors

extension Role {
    /// Returns why a tensor has no tokens of this role's vocabulary, or no types of tokens that it knows; nil if it has, or if the role
    /// is another one.
    /// - Parameters:
    ///   - tensor: I64 or I32 [batch, positions].
    ///   - mask: the positions that count, with the shape of `tensor`; nil if all do.
    package func foreignToken(in tensor: StoredTensor, mask: [Bool]? = nil) -> String? {
        let isTypes = kind == .tokenTypes
        guard kind == .tokens || isTypes, let vocabulary = integer(isTypes ? "count" : "vocabulary"),
            [.int64, .int32].contains(tensor.elementType)
        else { return nil }
        let tokens = HostTensor(tensor).integers
        let counts = mask.flatMap { $0.count == tokens.count ? $0 : nil }
        let width = max(tensor.shape.dimensions.last ?? 1, 1)
        for (index, token) in tokens.enumerated() where counts?[index] != false {
            guard token < 0 || token >= vocabulary else { continue }
            let place = "\(isTypes ? "type" : "token") \(token) (row \(index / width), position \(index % width))"
            if isTypes { return "\(place) is none of the model's token types, 0 to \(vocabulary - 1)" }
            guard token >= 0 else {
                return
                    "\(place) is negative, and no token; some tools pad with such numbers: leave the padding out, or, for a "
                    + "model with an attention_mask, put any token there and 0 in the mask"
            }
            return "\(place) is not one of the model's \(vocabulary): these are tokens of another model's tokenizer"
        }
        return nil
    }
}
