import AccelByteIO
import AccelFormats
import AccelHostTools
import AccelHub
import AccelModelFamilies

/// Models of the Hub that a command line names: `hf:OWNER/NAME[@REVISION][:FILE]`. They are downloaded into the cache of Hugging Face's own
/// library, where the code that opens models finds them.
enum HubModels {
    static let offline = Option(
        "offline", .flag, in: .general,
        "take models of the Hub from the local cache only. HF_HUB_OFFLINE=1 does the same")

    /// Downloads what the local cache lacks of each named model.
    static func download(_ arguments: Arguments, _ console: Console) throws {
        // A name without an owner is looked up in the cache alone.
        let references = try arguments.modelNames.filter { $0.hasPrefix(HubReference.prefix) && $0.contains("/") }
            .distinct.map { try HubReference(parsing: $0) }
        guard !references.isEmpty else { return }
        let variables = ProcessEnvironment.all
        let hub = Hub(try HubEnvironment(variables), CurlHubTransport(environment: variables))
        for reference in references {
            let show = console.liveLine()
            do {
                _ = try hub.fetch(
                    reference, access: arguments.has(offline) ? .offline : .ifNeeded, checks: checks(reference)
                ) { show(line("\(reference)", $0)) }
            } catch let error as HubError where !arguments.has(offline) {
                // Without a server, a copy that is complete does.
                guard (try? hub.fetch(reference, access: .offline)) != nil else { throw error }
                console.note("remark: \(error.description); the copy in the local cache is used")
            }
            show("")
        }
    }

    private static func line(_ name: String, _ progress: HubProgress) -> String {
        let rest = progress.remainingSeconds.map { ", \(Text.decimals($0, 0)) s left" } ?? ""
        return "\(name): \(Wording.bytes(progress.doneBytes)) of \(Wording.bytes(progress.totalBytes)), "
            + "\(Wording.bytes(Int(progress.bytesPerSecond))) a second\(rest)"
    }

    /// A model of a type that no family has is rejected before its weights are downloaded.
    private static func checks(_ reference: HubReference) -> HubChecks {
        HubChecks(configuration: { folder in
            let document = try NamedFiles(folder: folder).document("config.json")
            guard document.exists else { return }
            do {
                _ = try Families.matching(document)
            } catch let error as RequestError {
                throw RequestError("\(reference): \(error.description)", status: error.exitStatus)
            }
        })
    }
}

extension Arguments {
    /// The words that may name models: of positionals, and of options for inputs, without the weights of adapters.
    fileprivate var modelNames: [String] {
        let words = command.positionals.filter { !$0.takes.isEmpty }.flatMap { all($0) }
        let values = command.allOptions.flatMap { option -> [String] in
            guard case .input = option.kind, has(option) else { return [] }
            guard option.name == ConversionArguments.adapter.option.name else { return all(option) }
            return all(option).map { name in (try? AdapterRequest(parsing: name))?.folder ?? name }
        }
        return words + values
    }
}
