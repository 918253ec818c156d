#if os(Linux)
    import AccelByteIO
    import AccelTensors
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    /// The peak memory of commands, each in a process of its own.
    ///
    /// A peak holds the mapped pages of the package, which do not grow, so that a sum of what grows is visible in it.
    @Suite(
        "Memory of commands",
        .disabled(if: PeakMemory.isSanitized, "a sanitizer takes memory of its own for all that is touched"))
    struct PeakMemoryTests {
        private typealias Failure = PeakMemory.Failure

        /// Runs the tool and returns its peak memory in bytes.
        private func peak(
            _ words: [String], of executable: String = CommandRunner.executable.path, in folder: String
        ) throws -> Int { try PeakMemory.peak(words, of: executable, in: folder) }

        /// Writes tokens I64[rows, count], each below the vocabulary of the fixture.
        private func tokens(_ rows: Int, _ count: Int, in folder: String) throws -> String {
            let numbers = (0..<rows * count).map { Int64(($0 * 7 + $0 / count) % 47) }
            let name = "tokens-\(rows)-\(count).safetensors"
            try SafetensorsWriter.write(
                [StoredTensor(name: "input_ids", integers: numbers, shape: [rows, count])], to: "\(folder)/\(name)",
                as: .states)
            return name
        }

        private func convert(tokens: Int, in folder: String) throws -> String {
            let name = "p\(tokens).accelpkg"
            let words = [
                "convert", Fixtures.path("llama_llama3"), "--shape", "batch=1,tokens=\(tokens),cache=\(tokens + 8)",
                "--shape", "batch=1,tokens=1,cache=\(tokens + 8)", "--compress", "float32", "-q", "-o", name,
            ]
            let result = try CommandRunner.run(words, in: folder)
            guard result.status == 0 else { throw Failure(words: result.errors) }
            return name
        }

        @Test("run: 64 samples take no more than 1.1 times the memory of 2, with and without outputs that are written")
        func samples() throws {
            try withTemporaryFolder { folder in
                let package = try convert(tokens: 256, in: folder)
                let (few, many) = (try tokens(2, 256, in: folder), try tokens(64, 256, in: folder))
                for outputs in [[], ["--outputs", "o.safetensors"]] {
                    func run(_ inputs: String) throws -> Int {
                        try peak(["run", package, "--inputs", inputs, "-q"] + outputs, in: folder)
                    }
                    let (small, large) = (try run(few), try run(many))
                    #expect(Double(large) <= 1.1 * Double(small), "\(large) and \(small) bytes, \(outputs)")
                }
                // What is written is all of it.
                let file = try SafetensorsFile("\(folder)/o.safetensors")
                let logits = try #require(file.tensors.first { $0.shape.rank == 3 })
                #expect(logits.shape == [64, 256, 47])
                #expect(logits.floats().contains { $0 != 0 })
            }
        }

        @Test("run and verify: 64 samples of sound take no more than 1.1 times the memory of 2")
        func sound() throws {
            try withTemporaryFolder { folder in
                let (model, samples) = (Fixtures.path("wav2vec2_odd"), 12_000)
                let words = [
                    "convert", model, "--shape", "batch=1,samples=\(samples)", "--compress", "float32", "-q", "-o",
                    "sound.accelpkg",
                ]
                let made = try CommandRunner.run(words, in: folder)
                try #require(made.status == 0, "\(made.errors)")
                func sound(_ rows: Int) throws -> String {
                    let numbers = (0..<rows * samples).map { Float(($0 * 7919) % 2003) / 2003 - 0.5 }
                    let name = "sound-\(rows).safetensors"
                    try SafetensorsWriter.write(
                        [StoredTensor(name: "input_values", floats: numbers, shape: [rows, samples])],
                        to: "\(folder)/\(name)", as: .states)
                    return name
                }
                let (few, many) = (try sound(2), try sound(64))
                let verify = ["verify", "sound.accelpkg", "--against", model, "--only", "outputs", "--inputs"]
                for words in [["run", "sound.accelpkg", "--inputs"], verify] {
                    let (small, large) = (
                        try peak(words + [few, "-q"], in: folder), try peak(words + [many, "-q"], in: folder)
                    )
                    #expect(Double(large) <= 1.1 * Double(small), "\(large) and \(small) bytes, \(words[0])")
                }
            }
        }

        @Test("run --generate: a longer prompt takes no more memory than the arena and the states of its functions")
        func prompts() throws {
            try withTemporaryFolder { folder in
                func run(_ count: Int) throws -> (peak: Int, own: Int) {
                    let package = try convert(tokens: count, in: folder)
                    let words = [
                        "run", package, "--inputs", try tokens(1, count, in: folder), "--generate", "2", "--stop-token",
                        "none", "--json",
                    ]
                    let bytes = try peak(words, in: folder)
                    let text = try Data(contentsOf: URL(filePath: "\(folder)/.stdout"))
                    let document = try JSONSerialization.jsonObject(with: text) as? [String: Any]
                    let memory = try #require(document?["memory"] as? [String: Int])
                    return (bytes, memory["arena_bytes", default: 0] + memory["state_bytes", default: 0])
                }
                let (short, long) = (try run(64), try run(480))
                #expect(long.own > short.own)
                let grown = long.peak - short.peak
                #expect(grown <= (long.own - short.own) * 5 / 4 + 4 << 20, "\(grown) bytes for \(long.own - short.own)")
            }
        }

        @Test("convert: 4 times the samples take no more memory for their values than is given")
        func calibrated() throws {
            try withTemporaryFolder { folder in
                func run(_ rows: Int, _ memory: String) throws -> Int {
                    let words = [
                        "convert", Fixtures.path("llama_llama3"), "--shape", "batch=1,tokens=1,cache=8", "--compress",
                        "int4:block=channel,method=gptq", "--calibrate", try tokens(rows, 480, in: folder), "--memory",
                        memory,
                        "--no-cache", "-q", "-o", "c.accelpkg",
                    ]
                    return try peak(words, in: folder)
                }
                let (small, large) = (try run(64, "1MB"), try run(256, "1MB"))
                #expect(Double(large) <= 1.1 * Double(small), "\(large) and \(small) bytes")
                // With more memory the values are in it: the law can fail.
                #expect(Double(try run(256, "1GB")) > 1.2 * Double(small))
            }
        }

        @Test("verify: 64 samples take no more than 1.1 times the memory of 2")
        func verifiedSamples() throws {
            try withTemporaryFolder { folder in
                let package = try convert(tokens: 32, in: folder)
                func run(_ rows: Int) throws -> Int {
                    let inputs = try tokens(rows, 32, in: folder)
                    return try peak(
                        ["verify", package, "--against", Fixtures.path("llama_llama3"), "--inputs", inputs, "-q"],
                        in: folder)
                }
                let (small, large) = (try run(2), try run(64))
                #expect(Double(large) <= 1.1 * Double(small), "\(large) and \(small) bytes")
            }
        }

        /// Runs `verify` on random inputs with so much memory, and returns the bytes that it asks for.
        private func asked(_ package: String, with memory: Int = 1_000_000, in folder: String) throws -> Int {
            let words = [
                "verify", package, "--against", Fixtures.path("llama_llama3"), "--only", "graph,outputs", "-q",
            ]
            let result = try CommandRunner.run(words, in: folder, environment: ["ACCELC_MEMORY": "\(memory)"])
            #expect(result.status == 3, "\(result.errors)")
            let number = result.errors.components(separatedBy: " needs ").last?.prefix { $0.isNumber }
            return try #require(number.flatMap { Int($0) }, "\(result.errors)")
        }

        @Test(
            "verify: more tokens take no more memory than is asked for, and what cannot fit is an error before it is computed"
        )
        func verifiedTokens() throws {
            try withTemporaryFolder { folder in
                func run(_ count: Int) throws -> (peak: Int, asked: Int) {
                    let package = try convert(tokens: count, in: folder)
                    let words = ["verify", package, "--against", Fixtures.path("llama_llama3"), "-q"]
                    return (try peak(words, in: folder), try asked(package, in: folder))
                }
                let (short, long) = (try run(256), try run(768))
                let (grown, wanted) = (long.peak - short.peak, long.asked - short.asked)
                #expect(grown > wanted / 4, "\(grown) bytes for \(wanted)")
                #expect(grown <= wanted * 5 / 4 + 4 << 20, "\(grown) bytes for \(wanted)")
                let huge = try convert(tokens: 1 << 16, in: folder)
                #expect(try asked(huge, with: 100_000_000, in: folder) > 32 << 30)
            }
        }

        @Test("the measure shows what a process takes: a shell that holds 16 MB more is seen to")
        func control() throws {
            try withTemporaryFolder { folder in
                func shell(_ script: String) throws -> Int { try peak(["-c", script], of: "/bin/sh", in: folder) }
                let small = try shell(":")
                #expect(try shell("x=$(head -c 16000000 /dev/zero | tr '\\0' a); sleep 0.1") > small + 15_000_000)
            }
        }
    }
#endif
