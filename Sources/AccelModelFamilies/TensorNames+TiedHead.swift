import AccelTensors

extension TensorNames {
    /// Says that one tensor serves as word embeddings and as the head that makes logits of hidden states: a checkpoint may
    /// have it under either name. Called before either is taken.
    mutating func tie(head: String, words: String, isTied: Bool) {
        if isTied { tie(words, to: head) }
    }

    /// The name of the tensor that makes logits: the head's own, unless it is tied to the word embeddings or equal to them.
    ///
    /// Where a tied head is stored all the same and differs, it counts, as in transformers from version 5 on; earlier
    /// versions took the word embeddings.
    mutating func head(_ own: String, words: String, isTied: Bool) -> String {
        guard let head = find(own) else { return isTied ? words : own }
        guard let table = find(words) else { return own }
        guard table.isCopy(of: head) else {
            if isTied {
                remark(
                    "the configuration ties \(head.name) to \(table.name), but they differ: each is used as it is stored "
                        + "(transformers before version 5 used the second for both)")
            }
            return own
        }
        leaveOut(head, equalTo: table)
        return words
    }
}

extension StoredTensor {
    /// Whether it has the same elements, in the same encoding.
    func isCopy(of other: StoredTensor) -> Bool {
        elementType == other.elementType && shape == other.shape && bytes == other.bytes
    }
}
