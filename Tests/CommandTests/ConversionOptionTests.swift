import AccelByteIO
import AccelConversion
import TestSupport
import Testing

@testable import accelc

/// An option of a conversion is one row of a table. The law adds a row that no command has.
@Suite("One row for an option of a conversion")
struct ConversionOptionTests {
    /// The path of the recipe, which is in messages only, stands for the property of the option.
    private static let row = Option("colour", .words(["red", "blue"]), in: .output, "the colour of the package")
        .setting(
            ConversionChoice("a colour", key: "colour") { $0.recipeFile }
        ) { $0.recipeFile = $1[$2] }
    private static let rows = ConversionArguments.all + [row]

    private enum ColourCommand: accelc.Command {
        static let name = "colour"
        static let summary = "convert in colour"
        static let positionals = [ConversionArguments.model]
        static let options = rows.map(\.option)
        static func run(_ arguments: Arguments, _ console: Console) throws -> AccelByteIO.ExitStatus { .success }
    }

    private static func conversion(_ model: String, _ words: [String]) throws -> Conversion {
        try ConversionArguments.conversion(Arguments([model] + words, for: ColourCommand.self), rows: rows)
    }

    @Test("Help and manual have the option, and its words")
    func help() {
        #expect(HelpPage.fullPage(of: ColourCommand.self).contains("--colour red|blue"))
        #expect(ManPage.page(of: ColourCommand.self).contains("\\-\\-colour"))
    }

    @Test("Completions have the option, and its words", arguments: CompletionScript.Shell.allCases)
    func completion(_ shell: CompletionScript.Shell) {
        let script = CompletionScript.script(for: shell, commands: [ColourCommand.self])
        #expect(script.contains("colour") && script.contains("red blue"))
    }

    @Test("Another word is an error that names the option")
    func error() {
        let error = #expect(throws: RequestError.self) {
            try Self.conversion("bert", ["--colour", "green"])
        }
        #expect(error?.description.contains("takes red, blue for --colour") == true, "\(error?.description ?? "")")
    }

    @Test("The cache key has the value, and that of a request without it stays as it is")
    func key() throws {
        try withTemporaryFolder { (folder: String) throws in
            let cache = Cache(root: "\(folder)/cache")
            func fields(_ words: [String]) throws -> [CacheKey.Field] {
                let words = ["--shape", "batch=1,sequence=4"] + words
                return try Self.conversion(Fixtures.path("bert_base"), words).cacheKey(in: cache, threads: 1).fields
            }
            let plain = try Samples.fields(cache)
            #expect(try fields([]) == plain)
            let red = try fields(["--colour", "red"])
            #expect(red.filter { !plain.contains($0) } == [CacheKey.Field("option colour", "red")])
            #expect(red.count == plain.count + 1)
        }
    }

    @Test("A package is rejected with the name of the choice, by the library and by the tool")
    func package() throws {
        try withTemporaryFolder { (folder: String) throws in
            let package = "\(folder)/p.accelpkg"
            var conversion = try Conversion(of: Fixtures.path("bert_base"))
            conversion.shapes = [ShapeBindings(["batch": 1, "sequence": 4])]
            _ = try conversion.convert(to: .folder(package))
            let request = try Self.conversion(package, ["--colour", "red"])
            let export = ModelExport(of: request, to: try Exporters.named("coreml"))
            let error = try #require(throws: RequestError.self) { try export.export(to: "\(folder)/p.mlpackage") }
            #expect(error.description == "\(package) is a package, to which a colour cannot be applied")
            #expect(Remedies.sentence(error.diagnostic).hasSuffix("; leave it out, or export from its model"))
        }
    }

    @Test("The choice of each row is in the library's table, with a name and a key of its own")
    func table() {
        let names = ConversionChoice.all.map(\.name)
        #expect(Set(names).count == names.count)
        for row in ConversionArguments.all + [ConvertCommand.probe] {
            guard let choice = row.choice else { continue }
            #expect(names.contains(choice.name), "\(row.option.name)")
        }
        let made = (ConversionArguments.all + [ConvertCommand.probe]).compactMap { $0.choice?.name }
        #expect(Set(names).subtracting(made).isEmpty)
    }

    private enum Samples {
        /// The fields of the key of a request that was made without options.
        static func fields(_ cache: Cache) throws -> [CacheKey.Field] {
            var conversion = try Conversion(of: Fixtures.path("bert_base"))
            conversion.shapes = [ShapeBindings(["batch": 1, "sequence": 4])]
            return try conversion.cacheKey(in: cache, threads: 1).fields
        }
    }
}
