import AccelByteIO
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelFormats

@Suite("Running Core ML packages")
struct CoreMLInterpreterTests {
    /// `in.NAME` or `in.NAME.RUN` of a fixture's tensors.
    private func inputs(_ golden: SafetensorsFile, run: Int? = nil) -> [String: HostTensor] {
        let suffix = run.map { ".\($0)" } ?? ""
        let tensors = golden.tensors.filter { $0.name.hasPrefix("in.") && $0.name.hasSuffix(suffix) }
        return Dictionary(
            uniqueKeysWithValues: tensors.map {
                (String($0.name.dropFirst(3).dropLast(suffix.count)), HostTensor($0))
            })
    }

    private func golden(_ name: String) throws -> SafetensorsFile {
        try SafetensorsFile(Fixtures.path("coreml/\(name).safetensors"))
    }

    /// The largest difference, relative to the largest expected number.
    private func difference(_ found: HostTensor, _ expected: StoredTensor) -> Float {
        guard found.shape == expected.shape else { return .infinity }
        let wanted = expected.floats()
        let scale = max(wanted.map(abs).max() ?? 0, 1e-6)
        return zip(found.floats, wanted).map { abs($0 - $1) / scale }.max() ?? 0
    }

    @Test("Every operation means what torch means by it", arguments: ["operators_iOS16", "operators_iOS18"])
    func operations(name: String) throws {
        let golden = try golden(name)
        let package = try CoreMLReadingTests.package(name)
        var states: [String: HostTensor] = [:]
        let outputs = try package.run(inputs: inputs(golden), states: &states)
        for expected in golden.tensors where expected.name.hasPrefix("out.") {
            let found = try #require(outputs["out_\(expected.name.dropFirst(4))"], "\(expected.name)")
            #expect(difference(found, expected) <= 1e-6, "\(expected.name)")
        }
        #expect(outputs.count == golden.tensors.count { $0.name.hasPrefix("out.") })
    }

    @Test(
        "Every operation of the table stands in the samples, but for those that coremltools folds or that need states")
    func coverage() throws {
        let packages = try ["operators_iOS16", "operators_iOS18", "states", "encoder"].map(CoreMLReadingTests.package)
        let used = Set(packages.flatMap { $0.model.program.functions.flatMap(\.operations).map(\.type) })
        let folded: Set = ["fill", "fill_like", "range_1d", "shape", "reshape_like"]
        #expect(Set(ImportRules.all.map(\.name)).subtracting(used).subtracting(folded) == [])
        #expect(ImportRules.byName.count == ImportRules.all.count)
    }

    @Test("A layer of a transformer in float16 is torch's within float16 noise, in each of its shapes")
    func encoder() throws {
        let golden = try golden("encoder")
        let package = try CoreMLReadingTests.package("encoder")
        var states: [String: HostTensor] = [:]
        let all = inputs(golden)
        let expected = try #require(golden["out.y"])
        let found = try #require(try package.run(inputs: all, states: &states)["y"])
        let noise = difference(found, expected)
        #expect(noise < 4e-3 && noise > 1e-6, "\(noise)")
        let row = all.mapValues { HostTensor($0.integers.suffix(7).prefix(4).map(\.self), [1, 4]) }
        let short = try #require(try package.run(inputs: row, states: &states)["y"])
        #expect(short.shape == [1, 4, 16])
        let whole = Array(expected.floats()[112..<176])
        #expect(zip(short.floats, whole).allSatisfy { abs($0 - $1) < 1e-2 })
    }

    @Test("A state lasts from run to run, in float16")
    func states() throws {
        let golden = try golden("states")
        let package = try CoreMLReadingTests.package("states")
        var states: [String: HostTensor] = [:]
        for run in 0..<3 {
            let outputs = try package.run(inputs: inputs(golden, run: run), states: &states)
            let expected = try #require(golden["out.y.\(run)"])
            #expect(difference(try #require(outputs["y"]), expected) < 2e-3, "run \(run)")
        }
        #expect(states["cache"]?.floats == golden["state.cache"]?.floats())
    }

    @Test("Each function runs, the default one when none is named")
    func functions() throws {
        let golden = try golden("functions")
        let package = try CoreMLReadingTests.package("functions")
        var states: [String: HostTensor] = [:]
        let expected = try #require(golden["out.y"])
        let found = try #require(try package.run(inputs: inputs(golden), states: &states)["y"])
        #expect(difference(found, expected) < 1e-3)
        let row = ["x": HostTensor(Array(try #require(golden["in.x"]).floats()[..<20]), [1, 20])]
        let one = try #require(try package.run(function: "one", inputs: row, states: &states)["y"])
        #expect(one.floats == Array(found.floats[..<8]))
        #expect(throws: RequestError.self) { try package.program(function: "two") }
        #expect(throws: RequestError.self) { try package.run(inputs: [:], states: &states) }
    }

    @Test("An operation that accelc does not know is named")
    func unknown() throws {
        let package = try CoreMLReadingTests.package("functions")
        var model = package.model
        let place = try #require(model.program.functions[0].operations.firstIndex { $0.type == "relu" })
        model.program.functions[0].operations[place].type = "random_normal"
        let changed = try CoreMLPackage(path: "changed", model: model, blobs: package.blobs)
        #expect {
            try changed.program(function: model.program.functions[0].name)
        } throws: {
            ($0 as? FormatError)?.reason == "accelc does not know the operation random_normal"
        }
    }
}
