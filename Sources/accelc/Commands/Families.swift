import AccelByteIO
import AccelModelFamilies

enum FamiliesCommand: Command {
    static let name = "families"
    static let summary = "list the families of models that can be converted"
    static let options = [CommonOptions.json]

    static func run(_ arguments: Arguments, _ console: Console) throws -> ExitStatus {
        if arguments.has(CommonOptions.json) {
            console.print(.array(Families.all.map(document)))
        } else {
            let rows = Families.all.map { family in
                [family.modelTypes, family.init().parts, family.architectures].map { $0.joined(separator: ", ") }
            }
            console.summary(Text.table(["model type", "parts", "classes"], rows, [.left, .left, .left]))
        }
        return .success
    }

    private static func document(_ family: any ModelFamily.Type) -> JSON {
        func words(_ words: [String]) -> JSON { .array(words.map { .string($0) }) }
        return [
            "model_types": words(family.modelTypes), "classes": words(family.architectures),
            "parts": words(family.init().parts),
        ]
    }
}
