import AccelByteIO
import AccelCPURuntime
import AccelFormats
import AccelPrograms
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPackages
@testable import AccelVerification

/// What no machine has the memory for is an error with the number of bytes, and allocates nothing.
@Suite("More memory than there is")
struct MemoryTests {
    private static let much = 1 << 46

    private func requireUnavailable(_ bytes: String, _ body: () throws -> Void) {
        do {
            try body()
            Issue.record("passes")
        } catch let error as RequestError {
            #expect(error.exitStatus == .unavailable && error.description.contains("needs \(bytes)"), "\(error)")
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test("a package whose values need such memory is neither run nor verified")
    func arena() throws {
        let model = try TinyModel()
        let contents = PackageContents(
            graph: ModelGraph(of: try model.planned("float32", ["batch=4194304,sequence=64"])), coverage: [],
            provenance: Provenance(sources: [], family: "", recipe: .null, shapes: [""]))
        try withTemporaryFolder { folder in
            _ = try PackageWriter.write(contents, to: "\(folder)/p.accelpkg")
            let package = try AcceleratorPackage(at: "\(folder)/p.accelpkg")
            requireUnavailable("") { _ = try Executor(package.graph.planned(), function: 0, threads: 1) }
            requireUnavailable("") {
                _ = try Parity(of: .package(package), against: .reference([model.program]))
                    .check(.init(stages: [.outputs]))
            }
        }
    }

    @Test("the memory of a reference run is known before it begins")
    func reference() throws {
        let program = try TinyModel().program
        let frozen = try program.freezing(ShapeBindings(["batch": 2, "sequence": 24]))
        var run = ReferenceRun(of: frozen, SeededInputs(seed: 1).inputs(for: frozen))
        var most = 0
        while let step = try run.next(
            initial: { _ in nil }, constant: { .tensor(try HostTensor($0.requireTensor())) }, give: { _, _ in })
        {
            let results = MachineMemory.sum(step.outputs.map { TensorType($0.elementType, shape: $0.shape).hostBytes })
            most = max(most, run.live, results)
        }
        let peak = ReferenceRun.peakBytes(of: frozen)
        #expect(peak >= most && peak <= 3 * most, "\(peak) and \(most) bytes")
        let longer = try program.freezing(ShapeBindings(["batch": 2, "sequence": 240]))
        #expect(ReferenceRun.peakBytes(of: longer) > 5 * peak)
    }

    @Test("a Core ML package of such inputs is not run")
    func coreML() throws {
        var builder = ProgramBuilder(name: "model", dimensions: [.init("batch", usual: [1])])
        let x = builder.input("x", TensorType(.float32, ["batch", 12]))
        builder.output("y", try builder.apply(Relu(), [x]))
        let program = try builder.finish()
        let original = try CoreMLSample.program()
        var (model, weights) = try CoreMLSample.exported(original, "float16")
        // 3 TiB: more than machines that run tests have, and little enough for the address space that the thread sanitizer leaves.
        let rows = 1 << 36
        model.interfaces[0].inputs[0].type.dimensions[0] = rows
        model.interfaces[0].states = []
        requireUnavailable("\(rows * 12 * 4)") {
            _ = try CoreMLSample.report(try CoreMLSample.unsealed(model, weights), program, .init(stages: [.outputs]))
        }
    }

    @Test("what calibration takes is more than its matrices, and a number that overflows is the largest")
    func calibration() {
        let columns = 3072
        let square = columns * columns
        #expect(CalibrationMemory.sums(columns: columns, hasDrift: false) > 8 * square)
        #expect(CalibrationMemory.sums(columns: columns, hasDrift: true) > 16 * square)
        #expect(CalibrationMemory.statistics(columns: columns, hasDrift: true) > 8 * square)
        #expect(CalibrationMemory.factor(columns: columns, hasDrift: false) >= 10 * square)
        #expect(CalibrationMemory.sums(columns: 64, hasDrift: false) == (768 + 784) * 64 * 4 + 64 * 64 * 8)
        #expect(CalibrationMemory.sums(columns: 1 << 40, hasDrift: true) == .max)
    }

    @Test("tables that are folded are counted before any is made")
    func tables() throws {
        var builder = ProgramBuilder(name: "tables", dimensions: [.init("length", usual: [8])])
        let x = builder.input("x", TensorType(.float32, ["length"]))
        let one = builder.literal(HostTensor([Float(1)], [1]), name: "one")
        let wide = try builder.apply(Expand(to: ["length"]), [one])
        builder.output("y", try builder.apply(Add(), [x, wide]))
        let program = try builder.finish()
        _ = try FoldConstants.run(program.freezing(ShapeBindings(["length": 8])).program)
        // The table as numbers and as bytes, its input, and a copy of that.
        requireUnavailable("\(2 * Self.much * 4 + 4 + 4)") {
            _ = try FoldConstants.run(program.freezing(ShapeBindings(["length": Self.much])).program)
        }
    }
}
