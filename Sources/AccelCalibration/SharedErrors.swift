import AccelByteIO
import AccelPrograms
import AccelWeightCompression

/// The errors of a part's outputs over slices of the samples, which the shares of a conversion leave for the process that measures all.
struct SharedErrors {
    private let memory: any StatisticsMemory
    private let location: StatisticsLocation
    /// Identifies the weights.
    var weights: Digest? { location.before }
    private let count: Int

    /// - Parameters:
    ///   - samples: all samples of the part.
    ///   - weights: all weights that differ from the part's; others are left out.
    init(_ samples: CalibrationSamples, with weights: [CompressedTensor], in memory: any StatisticsMemory) {
        self.memory = memory
        count = samples.slices.count
        location = StatisticsLocation(
            part: samples.part.name, weight: "outputs", before: Self.digest(of: weights, in: samples.part))
    }

    /// Returns the digest of the encodings of a part's weights.
    static func digest(of weights: [CompressedTensor], in part: Program) -> Digest {
        let names = Set(part.constants.map(\.name))
        return StoredSoFar(weights.filter { names.contains($0.name) }).digest
    }

    private func entry(_ slice: Int) -> String { "errors of slice \(slice) of \(count)" }

    /// Makes the errors of this process's slices, where several processes share the work.
    func make(by run: SampleRun, comparing original: SampleRun) throws {
        guard let memory = memory as? any SharedStatisticsMemory else { return }
        for slice in memory.own(of: count) {
            _ = try memory.make(entry(slice), at: location) {
                let text = ErrorSums.json(try run.errorSums(slice..<slice + 1, comparing: original)).text()
                return [ByteView(Array(text.utf8))]
            }
        }
    }

    /// The errors over all samples; nil if those of a slice are missing.
    var all: SampledErrors? {
        var chunks: [[String: ErrorSums]] = []
        for slice in 0..<count {
            guard let content = memory.content(of: entry(slice), at: location),
                let sums = try? ErrorSums.chunks(try JSON.parse(content, file: entry(slice)))
            else { return nil }
            chunks += sums
        }
        return SampledErrors(chunks)
    }
}

/// The sums of chunks as a document: numbers as the bits of float64, since they may be infinite.
extension ErrorSums {
    static func json(_ chunks: [[String: ErrorSums]]) -> JSON {
        .array(
            chunks.map { chunk in
                .object(
                    chunk.sorted { $0.key < $1.key }.map { name, sums in
                        let numbers = [sums.all.error, sums.all.energy, sums.held.error, sums.held.energy]
                        let bits = numbers.map { JSON.string("\($0.bitPattern)") }
                        return .init(name, ["sums": .array(bits), "has_held": .bool(sums.hasHeld)])
                    })
            })
    }

    static func chunks(_ document: JSON) throws -> [[String: ErrorSums]] {
        try JSONField(document, file: "errors of outputs").array().map { chunk in
            Dictionary(
                uniqueKeysWithValues: try chunk.members().map { name, field in
                    let numbers = try field["sums"].array().map { number in
                        guard let bits = UInt64(try number.string()) else { throw number.error("is no number") }
                        return Double(bitPattern: bits)
                    }
                    guard numbers.count == 4 else { throw field.error("has no four sums") }
                    return (
                        name,
                        ErrorSums(
                            all: (numbers[0], numbers[1]), held: (numbers[2], numbers[3]),
                            hasHeld: try field["has_held"].bool())
                    )
                })
        }
    }
}
