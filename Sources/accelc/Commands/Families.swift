import AccelByteIO
import AccelModelFamilies

enum FamiliesCommand: Command {
    static let name = "families"
    static let summary = "list the model families that can be converted"
    static let options = [CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        let rows = Families.all.map { family in
            [family.modelTypes, family.init().parts, family.architectures].map { $0.joined(separator: ", ") }
        }
        console.result(
            .array(Families.all.map(document)),
            Text.table(["model type", "parts", "classes"], rows))
        return .success
    }

    private static func document(_ family: any ModelFamily.Type) -> JSON {
        [
            "model_types": .texts(family.modelTypes), "classes": .texts(family.architectures),
            "parts": .texts(family.init().parts),
        ]
    }
}
