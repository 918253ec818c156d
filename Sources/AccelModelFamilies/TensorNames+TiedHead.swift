import AccelTensors

extension TensorNames {
    /// Declares that one tensor serves as word embeddings and as head: a checkpoint may have it under either name. Has
    /// to be called before either is taken.
    mutating func tie(head: String, words: String, isTied: Bool) {
        if isTied { tie(words, to: head) }
    }

    /// Returns the name of the head's tensor: its own, unless it is tied to the word embeddings or equal to them.
    ///
    /// If a tied head is stored nevertheless and differs, it is used, as in transformers from version 5 on; earlier
    /// versions used the word embeddings.
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
    /// Returns whether element type, shape and bytes are equal.
    func isCopy(of other: StoredTensor) -> Bool {
        elementType == other.elementType && shape == other.shape && bytes == other.bytes
    }
}
