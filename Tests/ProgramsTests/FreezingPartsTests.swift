import AccelByteIO
import AccelPrograms
import AccelTensors
import Foundation
import Testing

@Suite("Freezing parts")
struct FreezingPartsTests {
    /// A part that hands its input through an activation.
    static func part(_ name: String, _ dimensions: [String], input: String = "x") throws -> Program {
        var builder = ProgramBuilder(name: name, dimensions: dimensions.map { .init($0, usual: [1], maximum: nil) })
        let x = builder.input(input, TensorType(.float32, dimensions.map(Dimension.named)))
        builder.output("y", try builder.apply(Tanh(), [x]))
        return try builder.finish()
    }

    static func parts() throws -> [Program] {
        [
            try part("encoder", ["batch", "frames"], input: "features"),
            try part("decoder", ["batch", "length"], input: "ids"),
        ]
    }

    @Test("One set of numbers serves every part, each with its own dimensions")
    func shared() throws {
        let frozen = try Self.parts().freezing([ShapeBindings(["batch": 1, "frames": 30, "length": 4])])
        #expect(frozen.map(\.functionName) == ["encoder[batch=1,frames=30]", "decoder[batch=1,length=4]"])
    }

    @Test("Functions that several sets make equal are made once")
    func deduplicated() throws {
        let frozen = try Self.parts().freezing([
            ShapeBindings(["batch": 1, "frames": 30, "length": 1]),
            ShapeBindings(["batch": 1, "frames": 30, "length": 8]),
        ])
        #expect(
            frozen.map(\.functionName) == [
                "encoder[batch=1,frames=30]", "decoder[batch=1,length=1]", "decoder[batch=1,length=8]",
            ])
    }

    @Test("A dimension that no part has is rejected with the nearest name")
    func unknown() throws {
        let parts = try Self.parts()
        let error = #expect(throws: RequestError.self) { try parts.freezing([ShapeBindings(["frame": 3])]) }
        #expect(error?.description.contains("did you mean \"frames\"?") == true)
    }

    @Test("Every dimension without a number is named at once, with options to paste that give all")
    func unbound() throws {
        func rejection(_ bindings: [ShapeBindings]) throws -> Diagnostic {
            let parts = try Self.parts()
            return try #require(#expect(throws: RequestError.self) { try parts.freezing(bindings) }?.diagnostic)
        }
        for bindings in [
            [ShapeBindings(["batch": 3])], [], [ShapeBindings(["frames": 3])], [ShapeBindings(["length": 3])],
        ] {
            let diagnostic = try rejection(bindings)
            let text = diagnostic.text
            let given = Set(bindings.flatMap(\.numbers.keys))
            for name in ["batch", "frames", "length"] {
                #expect(text.contains("\(name) (of ") == !given.contains(name), "\(text)")
            }
            let shapes = try diagnostic.candidates.map { try ShapeBindings(parsing: $0) }
            #expect(try !Self.parts().freezing(shapes).isEmpty, "\(text)")
        }
        // A number that only another part has does not help.
        #expect(
            try rejection([ShapeBindings(["batch": 1, "frames": 30]), ShapeBindings(["batch": 2, "frames": 30])])
                == Diagnostic(
                    "dimension length (of decoder) has no number", code: .dimensionsUnbound,
                    candidates: ["batch=1,frames=30,length=1", "batch=2,frames=30,length=1"]))
    }

    @Test("Bindings about different parts complete each other")
    func merged() throws {
        let frozen = try Self.parts().freezing([
            ShapeBindings(["batch": 2, "frames": 30]), ShapeBindings(["length": 1]), ShapeBindings(["length": 8]),
        ])
        #expect(
            frozen.map(\.functionName) == [
                "encoder[batch=2,frames=30]", "decoder[batch=2,length=1]", "decoder[batch=2,length=8]",
            ])
    }

    @Test("Bindings of options and of a file complete each other, also where they contradict")
    func contradicting() throws {
        let file = [ShapeBindings(["batch": 1, "frames": 30, "length": 1])]
        let parts = try Self.parts()
        #expect(
            try parts.freezing([ShapeBindings(["length": 4])], fitting: file).map(\.functionName)
                == ["encoder[batch=1,frames=30]", "decoder[batch=1,length=4]", "decoder[batch=1,length=1]"])
        // So do two options: what one lacks is the other's.
        for options in [
            [ShapeBindings(["length": 4]), ShapeBindings(["batch": 1, "frames": 30, "length": 1])],
            [ShapeBindings(["batch": 1, "frames": 30, "length": 1]), ShapeBindings(["length": 4])],
        ] {
            #expect(
                Set(try parts.freezing(options).map(\.functionName))
                    == ["encoder[batch=1,frames=30]", "decoder[batch=1,length=4]", "decoder[batch=1,length=1]"])
        }
        #expect(
            try parts.freezing([
                ShapeBindings(["batch": 1, "frames": 30, "length": 4]), ShapeBindings(["batch": 2, "frames": 30]),
            ]).map(\.functionName) == [
                "encoder[batch=1,frames=30]", "encoder[batch=2,frames=30]", "decoder[batch=1,length=4]",
                "decoder[batch=2,length=4]",
            ])
    }

    @Test(
        "Blanks around names and numbers do not count",
        arguments: ["batch=1,frames=30", " batch = 1 , frames=30 ", "batch=1, frames=30"])
    func blanks(_ text: String) throws {
        #expect(try ShapeBindings(parsing: text) == ShapeBindings(["batch": 1, "frames": 30]))
    }

    @Test("Bindings come from the tensors of a file, for the parts that it feeds")
    func fitting() throws {
        let tensors = [StoredTensor(name: "in.ids", floats: [1, 2, 3, 4, 5, 6], shape: [2, 3])]
        #expect(
            try Self.parts().bindings(fitting: tensors, file: "f").map(\.description) == ["batch=2,length=3"])
        let parts = try Self.parts()
        let strange = [StoredTensor(name: "in.other", floats: [1], shape: [1])]
        #expect(throws: RequestError.self) { try parts.bindings(fitting: strange, file: "f") }
    }
}
