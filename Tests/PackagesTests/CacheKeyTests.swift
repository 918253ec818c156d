import AccelByteIO
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPackages

/// schemas/cache-key.md is the table behind these tests.
@Suite("A key changes with everything that matters, and with nothing else")
struct CacheKeyTests {
    private struct TensorInputs {
        var content = SHA256.digest(of: "bytes")
        var elementType = ElementType.float32
        var shape: Shape = [4, 8]
        var codec = "float16"
        var statistics: Digest?
        var versions = Codecs.numericsVersions
        var calibration = Tool.calibrationVersion
        func key() throws -> CacheKey {
            CacheKey(
                tensor: content, elementType: elementType, shape: shape, codec: try Codecs.codec(codec),
                statistics: statistics, versions: versions, calibration: calibration)
        }
    }

    @Test("of a tensor: its bytes, type, shape, codec with every option and its version")
    func tensor() throws {
        let changes: [(inout TensorInputs) -> Void] = [
            { _ in }, { $0.content = SHA256.digest(of: "others") }, { $0.elementType = .bfloat16 },
            { $0.shape = [8, 4] },
            { $0.shape = [32] }, { $0.codec = "float32" }, { $0.codec = "palette:bits=4,group=16" },
            { $0.codec = "palette:bits=4,group=32" }, { $0.codec = "palette:bits=3,group=16" },
            { $0.codec = "sparse+int8" }, { $0.codec = "sparse+int4" }, { $0.codec = "sparse:threshold=0.1+int4" },
            { $0.versions["float16"] = 7 }, { $0.statistics = SHA256.digest(of: "s") },
            { $0.statistics = SHA256.digest(of: "t") },
        ]
        let keys = try changes.map { change in
            var inputs = TensorInputs()
            change(&inputs)
            return try inputs.key()
        }
        #expect(Set(keys.map(\.digest)).count == changes.count)
        #expect(Set(keys).count == changes.count)
    }

    @Test("of a tensor: the version of calibration counts with statistics, and without them it does not")
    func calibration() throws {
        for statistics in [nil, SHA256.digest(of: "s")] {
            var inputs = TensorInputs(statistics: statistics)
            let before = try inputs.key()
            inputs.calibration += 1
            #expect(try (inputs.key() != before) == (statistics != nil))
        }
    }

    @Test(
        "of a tensor: each codec has a version, which is in the keys of its results and in no others",
        arguments: Codecs.all.map { $0.name })
    func versions(codec: String) throws {
        #expect(try #require(Codecs.numericsVersions[codec]) >= 1)
        let specifications = Codecs.all.flatMap { type in
            type.takesInner ? Codecs.all.filter { !$0.takesInner }.map { "\(type.name)+\($0.name)" } : [type.name]
        }
        for specification in specifications {
            var inputs = TensorInputs(codec: specification)
            let before = try inputs.key()
            inputs.versions[codec]? += 1
            let isPart = specification.split(separator: "+").contains { $0 == codec }
            #expect(try (inputs.key() != before) == isPart, "\(specification)")
        }
    }

    @Test("of a tensor: a default that is written out gives the same key")
    func defaults() throws {
        var (left, right) = (TensorInputs(), TensorInputs())
        left.codec = "palette:bits=4"
        let codec = try Codecs.codec(left.codec)
        right.codec =
            "palette:" + codec.values.options.map { "\($0.name)=\(codec.values[$0.name])" }.joined(separator: ",")
        #expect(left.codec != right.codec)
        #expect(try left.key() == right.key())
    }

    @Test("of an export: the format, its version, every choice, and all that a conversion's key holds")
    func exported() throws {
        func package(_ recipe: String) -> CacheKey {
            CacheKey(sources: [], parts: [], shapes: ["model[batch=1]"], recipe: .string(recipe))
        }
        let keys = [
            CacheKey(exporting: package("a"), as: "coreml 1", choices: [("target", "iOS18")]),
            CacheKey(exporting: package("b"), as: "coreml 1", choices: [("target", "iOS18")]),
            CacheKey(exporting: package("a"), as: "coreml 2", choices: [("target", "iOS18")]),
            CacheKey(exporting: package("a"), as: "coreml 1", choices: [("target", "iOS26")]),
            CacheKey(exporting: SHA256.digest(of: "p"), as: "coreml 1", choices: [("target", "iOS18")]),
            CacheKey(exporting: SHA256.digest(of: "q"), as: "coreml 1", choices: [("target", "iOS18")]),
            package("a"),
        ]
        #expect(Set(keys.map(\.digest)).count == keys.count)
        #expect(keys[0] == CacheKey(exporting: package("a"), as: "coreml 1", choices: [("target", "iOS18")]))
    }

    private struct PackageInputs {
        var sources = [
            Provenance.Source(name: "config.json", byteCount: 3, digest: SHA256.digest(of: "c")),
            Provenance.Source(name: "model.safetensors", byteCount: 9, digest: SHA256.digest(of: "m")),
        ]
        var parts = ["encoder"]
        var shapes = ["batch=1,sequence=128"]
        var recipe: JSON = ["default": "float16", "rules": []]
        var options: [(name: String, value: String)] = []
        var toolVersion = "1"
        var versions = ResultVersions(family: "bert 1", codecs: ["int4": 1, "stored": 1])
        func key() -> CacheKey {
            CacheKey(
                sources: sources, parts: parts, shapes: shapes, recipe: recipe, options: options,
                versions: versions, toolVersion: toolVersion)
        }
    }

    @Test(
        "of a package: every source, part, shape and their order, recipe, option, and the versions of tool, family, passes, codecs, recipes and calibration"
    )
    func package() {
        let changes: [(inout PackageInputs) -> Void] = [
            { _ in }, { $0.sources[0].digest = SHA256.digest(of: "d") },
            { $0.sources[1].digest = SHA256.digest(of: "n") },
            { $0.sources[1].name = "other.safetensors" }, { $0.sources[1].byteCount = 10 }, { $0.sources.removeLast() },
            { $0.parts = [] }, { $0.parts = ["encoder", "decoder"] }, { $0.parts = ["decoder", "encoder"] },
            { $0.shapes = ["batch=8,sequence=128"] }, { $0.shapes.append("batch=8,sequence=128") },
            { $0.shapes = ["batch=8,sequence=128", "batch=1,sequence=128"] },
            { $0.recipe = ["default": "float32", "rules": []] },
            { $0.options = [("calibrate", "x")] }, { $0.options = [("calibrate", "y")] },
            { $0.options = [("target", "x")] },
            { $0.toolVersion = "2" }, { $0.versions.family = "bert 2" }, { $0.versions.codecs["int4"] = 2 },
            { $0.versions.codecs["int8"] = 1 }, { $0.versions.choice = 7 },
            { $0.versions.passes["fold-constants"] = 7 },
            { $0.versions.calibration = 1 }, { $0.versions.calibration = 2 },
        ]
        let keys = changes.map { change in
            var inputs = PackageInputs()
            change(&inputs)
            return inputs.key()
        }
        #expect(Set(keys.map(\.digest)).count == changes.count)
    }

    @Test("of a package: the order of sources and options does not matter")
    func order() {
        var (left, right) = (PackageInputs(), PackageInputs())
        right.sources.reverse()
        left.options = [("a", "1"), ("b", "2")]
        right.options = [("b", "2"), ("a", "1")]
        #expect(left.key() == right.key())
    }

    @Test(
        "of statistics: the weight, the samples, the part, what is stored before, every source, the versions of family and calibration"
    )
    func statistics() {
        let source = Provenance.Source(name: "config.json", byteCount: 3, digest: SHA256.digest(of: "c"))
        let other = Provenance.Source(name: "config.json", byteCount: 3, digest: SHA256.digest(of: "d"))
        let (samples, before) = (SHA256.digest(of: "samples"), SHA256.digest(of: "before"))
        func key(
            _ weight: String = "w", samples: Digest = samples, part: String = "model", before: Digest? = nil,
            sources: [Provenance.Source] = [source], family: String = "bert 1", version: Int = 1
        ) -> Digest {
            CacheKey(
                statisticsOf: weight, samples: samples, part: part, before: before, sources: sources,
                family: family, version: version
            ).digest
        }
        let keys = [
            key(), key("v"), key(samples: before), key(part: "encoder"), key(before: before), key(before: samples),
            key(sources: [other]), key(sources: []), key(version: 2), key(family: "bert 2"),
        ]
        #expect(Set(keys).count == keys.count)
        #expect(key() == key())
    }

    @Test("of a compression plan: the schemes to choose from, and every field of its package's key")
    func compressionPlan() {
        let fields = [CacheKey.Field("option target", "size 12MB"), CacheKey.Field("option calibrate", "a")]
        func key(_ fields: [CacheKey.Field], _ schemes: String = "int4 int8") -> Digest {
            CacheKey(planOf: CacheKey(kind: .package, fields: fields), schemes: schemes).digest
        }
        var keys = [key(fields), key(fields, "int4"), CacheKey(kind: .package, fields: fields).digest]
        for index in fields.indices {
            var other = fields
            other[index].value += "0"
            keys.append(key(other))
        }
        #expect(Set(keys).count == keys.count)
        #expect(key(fields) == key(fields))
    }

    @Test("lengths are part of the key: fields cannot run into each other")
    func lengths() {
        let left = CacheKey(kind: .package, fields: [.init("a", "bc")])
        let right = CacheKey(kind: .package, fields: [.init("ab", "c")])
        #expect(left.digest != right.digest)
        #expect(left.digest != CacheKey(kind: .tensor, fields: [.init("a", "bc")]).digest)
    }

    @Test("the key of a known list of fields stays what it is: another value would make all caches miss")
    func golden() {
        let key = CacheKey(kind: .tensor, fields: [.init("shape", "[2,3]")])
        var preimage: [UInt8] = []
        for text in ["accelc/ac/1", "tensor", "shape", "[2,3]"] {
            preimage += [UInt8(text.utf8.count), 0, 0, 0, 0, 0, 0, 0] + Array(text.utf8)
        }
        #expect(key.digest == SHA256.digest(of: ByteView(preimage)))
    }
}
