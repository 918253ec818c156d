package import AccelTensors

extension Role {
    /// Returns why a tensor has a number that this role has no meaning for: no token of the vocabulary, no known type of tokens, neither
    /// 0 nor 1 in a mask; nil if it has none, or if the role is another one.
    /// - Parameters:
    ///   - tensor: I64 or I32 [batch, positions].
    ///   - mask: the positions that count, with the shape of `tensor`; nil if all do.
    package func foreignNumber(in tensor: StoredTensor, mask: [Bool]? = nil) -> String? {
        guard let count = numberCount, [.int64, .int32].contains(tensor.elementType) else { return nil }
        let numbers = HostTensor(tensor).integers
        let counts = mask.flatMap { $0.count == numbers.count ? $0 : nil }
        let width = max(tensor.shape.dimensions.last ?? 1, 1)
        let found = numbers.enumerated().first { index, number in
            (number < 0 || number >= count) && counts?[index] != false
        }
        return found.map { index, number in
            reason(number, of: count, at: "(row \(index / width), position \(index % width))")
        }
    }

    /// The number of values from 0 on that an input of this role may have; nil where any may be.
    private var numberCount: Int? {
        switch kind {
        case .tokens: integer("vocabulary")
        case .tokenTypes: integer("count")
        case .attentionMask: 2
        default: nil
        }
    }

    private func reason(_ number: Int64, of count: Int, at place: String) -> String {
        switch kind {
        case .tokenTypes: return "type \(number) \(place) is none of the model's token types, 0 to \(count - 1)"
        case .attentionMask:
            return "\(number) \(place) has no meaning in a mask: 1 is for a position that takes part, 0 for padding"
        default: break
        }
        guard number < 0 else {
            return
                "token \(number) \(place) is not one of the model's \(count): these are tokens of another model's tokenizer"
        }
        return
            "token \(number) \(place) is negative, and no token; some tools pad with such numbers: leave the padding out, or, for a "
            + "model with an attention_mask, put any token there and 0 in the mask"
    }
}
