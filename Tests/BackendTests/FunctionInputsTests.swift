import Accel
import AccelByteIO
import AccelCPURuntime
import AccelPrograms
import AccelTensors
import Testing

@Suite("Function inputs")
struct FunctionInputsTests {
    static func function(_ name: String, _ shape: Shape) -> FunctionPlan {
        FunctionPlan(
            name: name, part: "model", bindings: ShapeBindings(),
            inputs: [.init(name: "ids", elementType: .int64, shape: shape)], outputs: [], arenaBytes: 0, calls: [])
    }
    static let functions = [function("short", [1, 2]), function("long", [1, 4])]

    static func tensor(_ name: String, _ count: Int) -> StoredTensor {
        StoredTensor(name: name, integers: (0..<count).map { Int64($0) }, shape: [1, count])
    }

    @Test("The function is chosen by the shapes of the inputs, plain or golden")
    func chosen() throws {
        #expect(try FunctionInputs([Self.tensor("ids", 4)], file: "f").choosing(from: Self.functions) == 1)
        let golden = [Self.tensor("in.ids", 2), Self.tensor("out.ids", 9), Self.tensor("other", 3)]
        let inputs = FunctionInputs(golden, file: "f")
        let function = Self.functions[try inputs.choosing(from: Self.functions)]
        #expect(function.name == "short")
        #expect(try inputs.checked(for: function).inputs["ids"]?.integers() == [0, 1])
    }

    @Test("A missing attention mask is 1 everywhere, missing token types are 0, and tokens are needed")
    func standIns() throws {
        let interface = Interface(
            inputs: [
                "ids": .tokens(vocabulary: 9), "mask": .attentionMask(.onesCount), "types": .tokenTypes(count: 2),
            ])
        let function = FunctionPlan(
            name: "f", part: "model", bindings: ShapeBindings(),
            inputs: ["ids", "mask", "types"].map { .init(name: $0, elementType: .int64, shape: [1, 3]) }, outputs: [],
            arenaBytes: 0, calls: [], interface: interface)
        let found = try FunctionInputs([Self.tensor("ids", 3)], file: "f").checked(for: function).inputs
        #expect(found.mapValues { $0.integers() } == ["ids": [0, 1, 2], "mask": [1, 1, 1], "types": [0, 0, 0]])
        let given = try FunctionInputs([Self.tensor("ids", 3), Self.tensor("mask", 3)], file: "f").checked(
            for: function)
        #expect(given.inputs["mask"]?.integers() == [0, 1, 2])
        #expect(throws: RequestError.self) {
            try FunctionInputs([Self.tensor("mask", 3)], file: "f").checked(for: function)
        }
    }

    @Test(
        "What does not fit is rejected with expected and found",
        arguments: [
            (
                [tensor("ids", 3)], nil,
                "no function takes these inputs: expected short (ids: I64[1,2]) or long (ids: I64[1,4])"
            ),
            ([tensor("ids", 3)], "long", "expected I64[1,4], found I64[1,3]"),
            ([tensor("idz", 4)], "long", "did you mean \"ids\"?"),
            (
                [StoredTensor(name: "ids", floats: [1, 2, 3, 4], shape: [1, 4])], "long",
                "expected I64[1,4], found F32[1,4]"
            ),
            ([], "long", "input \"ids\" of long is missing; expected I64[1,4]"),
            ([tensor("ids", 4)], "lonk", "did you mean \"long\"?"),
        ] as [([StoredTensor], String?, String)])
    func rejected(_ tensors: [StoredTensor], _ name: String?, _ words: String) {
        let error = #expect(throws: RequestError.self) {
            try FunctionInputs(tensors, file: "f").choosing(from: Self.functions, named: name)
        }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }
}
