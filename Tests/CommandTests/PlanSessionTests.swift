import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import Testing

@testable import accelc

@Suite("Sessions of a plan")
struct PlanSessionTests {
    @Test("a session prepares the functions that it is made for, with a profile and without, and no other")
    func prepares() throws {
        var builder = ProgramBuilder(name: "large")
        // Half a TiB can be planned; a machine without so much memory does not prepare it.
        let x = builder.input("x", TensorType(.float32, shape: [1 << 37]))
        builder.output("y", try builder.apply(Relu(), [builder.apply(Relu(), [x])]))
        let plan = try ModelGraph(functions: [builder.finish().freezing(ShapeBindings())], tensors: []).planned()
        for profile in [nil, RunProfile()] {
            _ = try PlanSession(plan, functions: [], threads: 1, profile: profile)
            #expect(throws: RequestError.self) {
                try PlanSession(plan, functions: [0], threads: 1, profile: profile)
            }
        }
    }
}
