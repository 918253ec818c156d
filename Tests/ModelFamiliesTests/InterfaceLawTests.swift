import AccelByteIO
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelModelFamilies

@Suite("The law of interfaces")
struct InterfaceLawTests {
    /// Models of families that have no fixture, without their tensors.
    private static let alone: [JSON] = [
        ["model_type": "silero_vad"], ["model_type": "kokoro_adain_blocks", "dims": [[4, 6, 0], [6, 6, 1]]],
    ]

    private static func models() throws -> [(family: any ModelFamily, model: FamilyModel)] {
        let fixtures = try (Fixtures.families + ["phonemes_kokoro"]).map { name in
            let checkpoint = try Checkpoint(model: Fixtures.path(name))
            let family = try Families.matching(checkpoint.configuration)
            return (family, try family.model(for: checkpoint, parts: family.parts, standsInForMissing: true))
        }
        return fixtures
            + (try alone.map { configuration in
                let field = JSONField(configuration, file: "config.json")
                let family = try Families.matching(field)
                let checkpoint = Checkpoint(folder: "", configuration: field, files: [])
                return (family, try family.model(for: checkpoint, parts: family.parts, standsInForMissing: true))
            })
    }

    @Test("Every port of every function of every family has a role that goes with it, and every link an output")
    func everyPort() throws {
        let models = try Self.models()
        let seen = Set(models.map { "\(type(of: $0.family))" })
        #expect(seen == Set(Families.all.map { "\($0)" }))
        // A checkpoint may have some of the parts only.
        let parts = Dictionary(grouping: models) { "\(type(of: $0.family))" }
        for (name, models) in parts {
            let built = Set(models.flatMap { $0.model.programs.map(\.name) })
            #expect(built == Set(models[0].family.parts), "\(name)")
        }
        for (family, model) in models {
            for function in try model.programs.freezingToUsualShapes() {
                let program = try function.optimized().program
                #expect(program.interface == function.program.interface)
                #expect(FunctionRole.all.contains(program.interface.role) && program.interface.role != .opaque)
                for port in program.ports {
                    let role = program.interface.role(of: port)
                    #expect(RoleRule.rule(for: role.kind) != nil, "\(family) \(program.name) \(port.name)")
                }
                try program.interface.check(program.ports)
                for link in program.interface.links {
                    let maker = try #require(model.programs.first { $0.name == link.part })
                    #expect(maker.outputs.contains { $0.name == link.output })
                }
            }
        }
    }

    @Test("A decoder is frozen to prefills and a step where nobody asks for shapes; other parts to one function each")
    func usualShapes() throws {
        for (family, model) in try Self.models() {
            for program in model.programs {
                let roles = try [program].freezingToUsualShapes().map(\.program.interface.role)
                let own = program.interface.role
                let prefills = [FunctionRole](repeating: .prefill, count: max(roles.count - 1, 1))
                #expect(roles == (own == .decode ? prefills + [.step] : [own]), "\(family) \(program.name)")
            }
        }
    }

    @Test("Parts that are linked are of one model, and a link to a part that is not built is left out")
    func links() throws {
        let checkpoint = try Checkpoint(model: Fixtures.path("whisper_small"))
        let family = try Families.matching(checkpoint.configuration)
        let all = try family.model(for: checkpoint).programs.flatMap(\.interface.links)
        #expect(
            all == [Interface.Link(input: "encoder_hidden_states", part: "encoder", output: "last_hidden_state")])
        let alone = try family.model(for: checkpoint, parts: ["cross_kv"]).programs
        #expect(alone.count == 1 && alone[0].interface.links.isEmpty)
    }

    // MARK: - Controls: programs that break the law

    private func program(
        _ role: FunctionRole = .encode, input: Role = .tokens(vocabulary: 9), output: Role = .hiddenStates,
        from source: (part: String, output: String)? = nil
    ) throws -> Program {
        var builder = ProgramBuilder(name: "model", role: role)
        let table = StoredTensor(name: "t", floats: [Float](repeating: 1, count: 18), shape: [9, 2])
        let words = builder.constant(table, isWeight: true)
        let tokens = builder.input("ids", TensorType(.int64, [1, 4]), input, from: source)
        builder.output("y", try builder.apply(Gather(), [words, tokens]), output)
        return try builder.finish()
    }

    private func rejection(_ make: () throws -> Program) -> String? {
        do {
            _ = try [make()].checkingInterfaces(parts: ["model", "other"])
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test("A port or a part without a role is rejected")
    func missingRoles() throws {
        #expect(rejection { try program() } == nil)
        #expect(rejection { try program(.opaque) }?.contains("part \"model\": has no role") == true)
        #expect(
            rejection { try program(input: .opaque) }?.contains("input \"ids\" of the part \"model\": has no role")
                == true)
        #expect(rejection { try program(output: .opaque) }?.contains("output \"y\" of the part \"model\"") == true)
    }

    @Test("A role that does not go with its port is rejected when the program is built")
    func wrongRoles() throws {
        #expect(
            rejection { try program(input: .pitch) }?.contains("takes F32 of 2 axes, but the port is I64[1,4]") == true)
        #expect(rejection { try program(input: .position) }?.contains("takes I64 of 1 axes") == true)
        #expect(rejection { try program(input: .logits(over: .labels)) }?.contains("is for outputs") == true)
        #expect(rejection { try program(input: Role(.tokens)) }?.contains("has no vocabulary") == true)
        let odd = Role(.tokens, ["vocabulary": .integer(9), "language": .word("en")])
        #expect(rejection { try program(input: odd) }?.contains("has no parameter language") == true)
        let unknown = Role(RoleKind(rawValue: "smell"))
        #expect(rejection { try program(input: unknown) }?.contains("unknown role \"smell\"") == true)
    }

    @Test("A link that leads nowhere, or to something else, is rejected")
    func wrongLinks() throws {
        #expect(rejection { try program(from: ("other", "y")) } == nil)
        #expect(rejection { try program(from: ("nobody", "y")) }?.contains("which is not a part") == true)
        #expect(rejection { try program(from: ("model", "z")) }?.contains("which is not an output") == true)
        #expect(rejection { try program(from: ("model", "y")) }?.contains("is I64[1,4], but \"y\"") == true)
    }

    @Test("An interface comes back as it was written", arguments: Fixtures.families)
    func written(fixture: String) throws {
        let checkpoint = try Checkpoint(model: Fixtures.path(fixture))
        let family = try Families.matching(checkpoint.configuration)
        for function in try family.model(for: checkpoint, parts: family.parts).programs.freezingToUsualShapes() {
            let interface = function.program.interface
            let text = ByteView(Array(interface.json.text().utf8))
            #expect(try Interface(parsing: JSONField(try JSON.parse(text, file: "i"), file: "i")) == interface)
        }
    }

    @Test("Pixels are normalised as preprocessor_config.json says, else as the model's class does")
    func pixels() throws {
        let root = try JSON.read(Fixtures.path("vit_tall/config.json"))
        let channels = try JSONField(root, file: "c")["num_channels"].int(in: 1...1024, default: 3)
        let mean = (0..<channels).map { JSON.number(Double($0) / 8) }
        let cases: [(JSON, Role)] = [
            (
                ["image_mean": .array(mean), "image_std": .array(mean)],
                .pixels(
                    .init(
                        mean: (0..<channels).map { Double($0) / 8 }, deviation: (0..<channels).map { Double($0) / 8 }))
            ),
            (
                ["do_normalize": false],
                .pixels(
                    .init(
                        mean: [Double](repeating: 0, count: channels),
                        deviation: [Double](repeating: 1, count: channels)))
            ),
            (["do_rescale": false], .pixels(nil)),
        ]
        for (document, role) in cases {
            try withTemporaryFolder { folder in
                for name in ["config.json", "model.safetensors"] {
                    try Files.copy(Fixtures.path("vit_tall/\(name)"), to: "\(folder)/\(name)")
                }
                var file = try AtomicFile(replacing: "\(folder)/preprocessor_config.json", as: .internal)
                try file.write(document.text())
                try file.commit()
                let checkpoint = try Checkpoint(model: folder)
                let program = try Families.matching(checkpoint.configuration).model(for: checkpoint).programs[0]
                #expect(program.interface.inputs["pixel_values"] == role)
            }
        }
    }
}
