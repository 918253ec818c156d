import AccelByteIO
import AccelCalibration
import AccelPackages
import AccelPrograms
import AccelTensors
import Foundation
import TestSupport
import Testing

@testable import AccelConversion

/// Shares of conversions with calibration: the sums over samples are shared out in slices, whatever process makes which.
@Suite("Shares of a calibrated conversion")
struct CalibratedShardTests {
    /// 8 slices of samples, of which every 16th is held out.
    private static let samples = (count: 256, tokens: 16)

    private static func conversion(_ scheme: String, in folder: String) throws -> Conversion {
        let path = "\(folder)/samples.safetensors"
        if Files.kind(of: path) == nil {
            let stream = SeededStream(seed: 3, name: "tokens")
            let count = samples.count * samples.tokens
            let shape = Shape([samples.count, samples.tokens])
            let tensors = [
                StoredTensor(name: "attention_mask", integers: [Int64](repeating: 1, count: count), shape: shape),
                StoredTensor(
                    name: "input_ids", integers: (0..<count).map { Int64(stream.integer($0, below: 60)) }, shape: shape),
            ]
            try SafetensorsWriter.write(tensors, to: path, as: .part)
        }
        var conversion = try Samples.conversion(scheme)
        conversion.samples = try SampleFile(path)
        return conversion
    }

    /// Runs shares at the same time, each with its own view of a cache.
    private static func run(_ shares: [WeightShard], _ conversion: Conversion, cache: String) throws -> [ConvertedShard]
    {
        try Parallel.map(shares.count, threads: shares.count) { index in
            try conversion.convert(shares[index], ConversionSettings(cache: Cache(root: cache), threads: 1))
        }
    }

    @Test(
        "Any number of shares, at once or in any order, leads to the package of one process, which makes nothing then",
        arguments: [[[1]], [[1, 2]], [[2], [1]], [[1, 2, 3, 4, 5, 6, 7]], [[3, 1], [2]]])
    func shares(_ rounds: [[Int]]) throws {
        try withTemporaryFolder { folder in
            let conversion = try Self.conversion("int8:method=gptq", in: folder)
            let alone = try conversion.convert(to: .folder("\(folder)/alone"), ConversionSettings(threads: 2))
            let (cache, count) = ("\(folder)/cache", rounds.joined().count)
            var made = 0
            for round in rounds {
                let shares = try round.map { try WeightShard($0, of: count) }
                for share in try Self.run(shares, conversion, cache: cache) {
                    #expect(share.calibrated.made + share.calibrated.found > 10)
                    made += share.calibrated.made
                }
            }
            #expect(made > 10)
            let settings = ConversionSettings(cache: Cache(root: cache), threads: 2)
            let whole = try conversion.convert(to: .folder("\(folder)/whole"), settings)
            #expect(whole.weights.made == 0 && whole.weights.found == 39)
            #expect(whole.package.digest == alone.package.digest)
            #expect(whole.outputs == alone.outputs && whole.outputs?.heldOutCount == 16)
            // Sums of slices are of no use any more.
            let entries = settings.cache?.entries.filter {
                $0.record.key.fields.contains { $0.value.hasPrefix("sums") }
            }
            #expect(entries?.isEmpty == true)
        }
    }

    @Test("A share that ends early leaves its slices to the others")
    func cancelled() throws {
        try withTemporaryFolder { folder in
            let conversion = try Self.conversion("int8:method=gptq", in: folder)
            let alone = try conversion.convert(to: .folder("\(folder)/alone"), ConversionSettings(threads: 2))
            let cache = "\(folder)/cache"
            let ends = try Parallel.map(2, threads: 2) { index in
                let settings = ConversionSettings(cache: Cache(root: cache), threads: 1)
                var weights = 0
                do {
                    _ = try conversion.convert(WeightShard(index + 1, of: 2), settings) { event in
                        if event.kind == .weight { weights += 1 }
                        if index == 1, weights == 30 { settings.cancellation.cancel() }
                    }
                    return "done"
                } catch is CancellationError { return "cancelled" }
            }
            #expect(ends == ["done", "cancelled"])
            let settings = ConversionSettings(cache: Cache(root: cache), threads: 2)
            let whole = try conversion.convert(to: .folder("\(folder)/whole"), settings)
            #expect(whole.package.digest == alone.package.digest && whole.weights.made == 0)
        }
    }

    @Test("Weighted columns are shared too")
    func weighted() throws {
        try withTemporaryFolder { folder in
            let conversion = try Self.conversion("palette:bits=2,method=weighted", in: folder)
            let alone = try conversion.convert(to: .folder("\(folder)/alone"), ConversionSettings(threads: 2))
            let shares = try (1...2).map { try WeightShard($0, of: 2) }
            _ = try Self.run(shares, conversion, cache: "\(folder)/cache")
            let settings = ConversionSettings(cache: Cache(root: "\(folder)/cache"), threads: 2)
            let whole = try conversion.convert(to: .folder("\(folder)/whole"), settings)
            #expect(whole.package.digest == alone.package.digest)
        }
    }

    @Test("Shares that have nothing in common but a server leave their statistics and errors to who comes later")
    func server() throws {
        try withTemporaryFolder { folder in
            let conversion = try Self.conversion("int8:method=gptq", in: folder)
            let alone = try conversion.convert(to: .folder("\(folder)/alone"), ConversionSettings(threads: 2))
            func cache(_ name: String) throws -> Cache {
                let server = try RemoteCache(
                    url: "http://server/x", transport: FolderServer(folder: "\(folder)/server"))
                return Cache(root: "\(folder)/\(name)", remote: server)
            }
            for number in 1...2 {
                _ = try conversion.convert(
                    WeightShard(number, of: 2), ConversionSettings(cache: try cache("cache \(number)"), threads: 2))
            }
            let last = try cache("last")
            let whole = try conversion.convert(
                to: .folder("\(folder)/whole"), ConversionSettings(cache: last, threads: 2))
            #expect(whole.package.digest == alone.package.digest && whole.outputs == alone.outputs)
            // The errors of the whole package are its own.
            let statistics = last.entries.filter { entry in
                entry.record.key.kind == .statistics && !entry.record.key.fields.contains { $0.name == "outputs of" }
            }
            #expect(statistics.count > 10)
            #expect(statistics.allSatisfy { last.isFromServer($0.record.key) })
        }
    }
}
