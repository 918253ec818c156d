/// The name of one of several files that hold a model's weights, such as `model-00001-of-00002.safetensors`.
struct ShardName {
    private let stem: Substring
    private let digits: Int
    /// From 1.
    let number: Int
    /// The number of all shards.
    let count: Int

    /// Reads a name; nil for one that is no shard's.
    init?(_ name: String) {
        guard let match = name.wholeMatch(of: /(.+)-(\d{5,})-of-(\d{5,})\.safetensors/),
            let number = Int(match.2), let count = Int(match.3), (1...9999).contains(count),
            (1...count).contains(number)
        else { return nil }
        (stem, digits, self.number, self.count) = (match.1, match.2.count, number, count)
    }

    /// The name of the shard of a number.
    func name(of number: Int) -> String { "\(stem)-\(padded(number))-of-\(padded(count)).safetensors" }

    /// The name of the file that lists the shards.
    var index: String { "\(stem).safetensors.index.json" }

    private func padded(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(digits - text.count, 0)) + text
    }
}
