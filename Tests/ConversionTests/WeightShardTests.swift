import AccelByteIO
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import Foundation
import TestSupport
import Testing

@testable import AccelConversion
@testable import AccelPackages

@Suite("Shares of a conversion's weights")
struct WeightShardTests {
    /// Jobs of random sizes; every tenth is equal to the one before it.
    private static func jobs(_ count: Int, seed: UInt64) throws -> [WeightJob] {
        var generator = SeededGenerator(seed: seed)
        var jobs: [WeightJob] = []
        for index in 0..<count {
            if index % 10 == 9, let last = jobs.last {
                jobs.append(last)
                continue
            }
            let rows = Int.random(in: 1...200, using: &generator)
            let source = StoredTensor(
                name: "w\(index)", floats: [Float](repeating: Float(index), count: rows * 8), shape: [rows, 8])
            jobs.append(
                WeightJob(
                    source, content: TreeDigest.digest(of: source.bytes), as: try Codecs.codec("int8"), given: nil))
        }
        return jobs
    }

    @Test(
        "Every job is in exactly one share, whatever the order; the shares are as equal as the largest job lets them be",
        arguments: [1, 2, 3, 7, 50, 200])
    func partition(count: Int) throws {
        let jobs = try Self.jobs(90, seed: UInt64(count))
        let shares = try (1...count).map { try WeightShard($0, of: count).share(of: jobs) }
        let keys = shares.flatMap { $0.map(\.key.digest) }
        #expect(keys.count == Set(keys).count && Set(keys) == Set(jobs.map(\.key.digest)))
        for (index, share) in shares.enumerated() {
            let again = try WeightShard(index + 1, of: count).share(of: jobs.reversed())
            #expect(again.map(\.key) == share.map(\.key))
        }
        let bytes = shares.map { $0.reduce(0) { $0 + $1.byteCount } }
        let largest = jobs.map(\.byteCount).max() ?? 0
        #expect((bytes.max() ?? 0) - (bytes.min() ?? 0) <= largest, "\(bytes)")
    }

    @Test("A share out of range, or none at all, is rejected by what was given")
    func rejected() throws {
        for text in ["0/2", "3/2", "1/0", "-1/2", "1/65537", "1", "1/2/3", "a/b", "", "1/"] {
            let error = #expect(throws: RequestError.self) { try WeightShard(parsing: text) }
            #expect(error?.description.contains("shard \(text): expected I/N") == true, "\(text)")
        }
        #expect(try WeightShard(parsing: "2/4") == WeightShard(2, of: 4))
        #expect("\(try WeightShard(2, of: 4))" == "2/4")
    }

    @Test("The share of an array job, by the variables of each scheduler, or an error that names them")
    func arrayJobs() throws {
        let slurm = [
            "SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "9",
            "SLURM_ARRAY_TASK_STEP": "2",
            "SLURM_ARRAY_TASK_COUNT": "5",
        ]
        #expect(try WeightShard(parsing: "auto", environment: slurm) == WeightShard(4, of: 5))
        let kubernetes = ["JOB_COMPLETION_INDEX": "0", "JOB_COMPLETIONS": "3"]
        #expect(try WeightShard(parsing: "auto", environment: kubernetes) == WeightShard(1, of: 3))
        #expect(try WeightShard(parsing: "auto/6", environment: ["JOB_COMPLETION_INDEX": "5"]) == WeightShard(6, of: 6))
        let batch = ["AWS_BATCH_JOB_ARRAY_INDEX": "2", "AWS_BATCH_JOB_ARRAY_SIZE": "4"]
        #expect(try WeightShard(parsing: "auto", environment: batch) == WeightShard(3, of: 4))
        #expect(try WeightShard(parsing: "1/2", environment: batch) == WeightShard(1, of: 2))
        func failure(_ environment: [String: String], _ text: String = "auto") -> String? {
            (#expect(throws: RequestError.self) { try WeightShard(parsing: text, environment: environment) })?
                .description
        }
        #expect(failure([:])?.contains("JOB_COMPLETION_INDEX") == true)
        #expect(failure(kubernetes.merging(batch) { left, _ in left })?.contains("found 2") == true)
        #expect(failure(["JOB_COMPLETION_INDEX": "1"])?.contains("JOB_COMPLETIONS is not set") == true)
        #expect(failure(["JOB_COMPLETION_INDEX": "x", "JOB_COMPLETIONS": "3"])?.contains("\"x\"") == true)
        #expect(failure(["JOB_COMPLETION_INDEX": "3", "JOB_COMPLETIONS": "3"])?.contains("4/3") == true)
        #expect(failure(kubernetes, "auto/x") != nil)
        // Numbers that no scheduler has: an error, and no overflow.
        let (least, most) = ("\(Int.min)", "\(Int.max)")
        #expect(failure(["JOB_COMPLETION_INDEX": most, "JOB_COMPLETIONS": "3"])?.contains(most) == true)
        #expect(
            failure(slurm.merging(["SLURM_ARRAY_TASK_ID": most, "SLURM_ARRAY_TASK_MIN": least]) { _, new in new })
                != nil)
        #expect(failure(slurm.merging(["SLURM_ARRAY_TASK_STEP": "0"]) { _, new in new }) != nil)
        // Indices that are no range: the number of a job in the array is not known.
        #expect(failure(slurm.merging(["SLURM_ARRAY_TASK_COUNT": "3"]) { _, new in new }) != nil)
        #expect(failure(slurm.merging(["SLURM_ARRAY_TASK_ID": "8"]) { _, new in new }) != nil)
    }

    @Test(
        "Shares, then a conversion: nothing is made twice, and the events say so",
        arguments: ["int8", "palette:bits=2"])
    func shared(scheme: String) throws {
        try withTemporaryFolder { folder in
            let conversion = try Samples.conversion(scheme)
            let alone = try conversion.convert(to: .folder("\(folder)/alone"))
            #expect(alone.cache == .off && alone.weights.found == 0 && alone.weights.made == 39)
            let settings = ConversionSettings(cache: Cache(root: "\(folder)/cache"), threads: 2)
            var own = 0
            for number in 1...3 {
                let made = try conversion.convert(WeightShard(number, of: 3), settings)
                #expect(made.weights.made == made.ownJobs && made.weights.found == 0)
                #expect(made.calibrated == WeightCounts())
                own += made.ownJobs
                #expect(made.jobs == 39)
            }
            #expect(own == 39)
            var outcomes: [CacheOutcome] = []
            let whole = try conversion.convert(to: .folder("\(folder)/whole"), settings) { event in
                if event.kind == .weight, let outcome = event.cache { outcomes.append(outcome) }
            }
            #expect(outcomes == [CacheOutcome](repeating: .hit, count: 39))
            #expect(whole.weights.made == 0 && whole.weights.found == 39)
            #expect(whole.package.digest == alone.package.digest)
        }
    }

    @Test("Weights whose statistics the recipe has are shared too")
    func calibrated() throws {
        try withTemporaryFolder { folder in
            var planned = try Samples.conversion("int8")
            planned.recipe = try CompressionTarget.freeRecipe()
            planned.samples = try SampleFile(Fixtures.path("bert_base/golden.safetensors"))
            planned.target = .bitsPerWeight(6)
            var settings = ConversionSettings(threads: 2)
            settings.planFolder = "\(folder)/plan"
            let first = try planned.convert(to: .folder("\(folder)/first"), settings)
            settings.cache = Cache(root: "\(folder)/cache")
            #expect(throws: RequestError.self) { try planned.convert(WeightShard(1, of: 2), settings) }

            var again = planned
            (again.samples, again.target, again.recipeFile) = (nil, nil, "\(folder)/plan/recipe.json")
            again.recipe = try Recipe(
                JSONField(try JSON.read("\(folder)/plan/recipe.json"), file: "\(folder)/plan/recipe.json"))
            var made = 0
            for number in 1...2 {
                let share = try again.convert(WeightShard(number, of: 2), settings)
                #expect(share.calibrated == WeightCounts())
                made += share.weights.made
            }
            #expect(made == 39)
            let second = try again.convert(to: .folder("\(folder)/second"), settings)
            #expect(second.weights.made == 0 && second.package.digest == first.package.digest)
        }
    }

    @Test("Cancelled, it ends with that and leaves nothing; what it emits comes through the stream too")
    func work() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "accelc-test-\(UUID().uuidString)").path
        try Files.makeFolder(folder)
        defer { try? Files.removeTree(folder) }
        let work = try Samples.conversion("int8").run(to: .folder("\(folder)/p"))
        var events: [ConversionEvent] = []
        for await event in work.events { events.append(event) }
        #expect(events.map(\.kind) == [.stage] + [ConversionEvent.Kind](repeating: .weight, count: 39))
        // In the order in which they are done, each once.
        #expect(events.dropFirst().map(\.done) == Array(0..<39))
        #expect(Set(events.dropFirst().map(\.text)).count == 39)
        let package = try await work.value.package
        #expect(try AcceleratorPackage(at: "\(folder)/p").digest == package.digest)

        let settings = ConversionSettings()
        settings.cancellation.cancel()
        let cancelled = try Samples.conversion("int8").run(to: .folder("\(folder)/q"), settings)
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(try Files.list(folder) == ["p"])
    }
}
