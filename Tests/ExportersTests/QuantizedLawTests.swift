import AccelByteIO
import AccelTensors
import TestSupport
import Testing

@testable import AccelFormats

/// Laws of quantized checkpoints: every tensor that a scheme claims is read or idle with a reason; scales are those of the blocks that
/// the configuration states; every field of the configuration is read, listed, or rejected.
@Suite("Laws of quantized checkpoints")
struct QuantizedLawTests {
    /// The scheme and the part of a tensor.
    private func claim(_ tensor: StoredTensor, _ all: [StoredTensor]) -> (
        scheme: any QuantizedScheme.Type, part: String
    )? {
        let names = Set(all.map(\.name))
        for scheme in QuantizedSchemes.all {
            for part in scheme.claimedParts.sorted(by: { $0.count > $1.count }) where tensor.name.hasSuffix(part) {
                let layer = String(tensor.name.dropLast(part.count))
                guard names.contains(layer + scheme.mark) else { continue }
                let checkpoint = Checkpoint(folder: "nowhere", configuration: JSONField([:], file: ""), files: [])
                guard let configuration = try? QuantizationConfiguration(of: checkpoint) else { continue }
                let own = QuantizedLayer(
                    checkpoint: checkpoint.replacing(tensors: all, configuration: JSONField([:], file: "")),
                    name: layer,
                    configuration: configuration, scheme: scheme, recorded: (nil, nil))
                if scheme.fits(own) { return (scheme, part) }
            }
        }
        return nil
    }

    /// Returns a tensor whose elements all have a bit flipped: the lowest one, or a high one of the fraction.
    private func flipped(_ tensor: StoredTensor, isLowest: Bool) -> StoredTensor {
        let size = tensor.elementType.byteCount
        var bytes = tensor.bytes.withBytes { [UInt8]($0) }
        for start in stride(from: 0, to: bytes.count, by: size) {
            bytes[start + (isLowest ? 0 : max(size - 2, 0))] ^= isLowest ? 1 : 16
        }
        return StoredTensor(
            name: tensor.name, elementType: tensor.elementType, shape: tensor.shape, bytes: ByteView(bytes))
    }

    /// Returns whether a change of a tensor changes a weight or is rejected.
    private func matters(_ tensor: StoredTensor, in fixture: QuantizedFixture, _ values: [String: [Float]]) -> Bool {
        let changed = fixture.layers.filter { $0.name != tensor.name } + [tensor]
        guard let other = try? fixture.values(changed) else { return true }
        return other != values
    }

    @Test(
        "a change of any tensor that a scheme claims changes a weight or is rejected", arguments: QuantizedFixture.names
    )
    func parts(name: String) throws {
        let fixture = try QuantizedFixture(name)
        let values = try fixture.values()
        var seen = Set<String>()
        for tensor in fixture.layers {
            guard let (scheme, part) = claim(tensor, fixture.layers) else { continue }
            let isIdle = !scheme.parts.contains(part)
            // One layer of each kind is enough, of the fixtures of many.
            guard seen.insert("\(scheme.title)\(part)\(tensor.elementType)").inserted else { continue }
            for isLowest in [true, false] {
                #expect(
                    matters(flipped(tensor, isLowest: isLowest), in: fixture, values) != isIdle,
                    "\(name), \(tensor.name): \(scheme.title) claims it")
            }
        }
        #expect(!seen.isEmpty)
    }

    @Test("the fixtures have every tensor that a scheme claims")
    func coverage() throws {
        var found = Set<String>()
        for name in QuantizedFixture.names {
            let layers = try QuantizedFixture(name).layers
            for tensor in layers {
                guard let (scheme, part) = claim(tensor, layers) else { continue }
                found.insert(scheme.title + part)
            }
        }
        for scheme in QuantizedSchemes.all {
            for part in scheme.parts { #expect(found.contains(scheme.title + part), "\(scheme.title), \(part)") }
        }
    }

    @Test("a tensor that nobody reads is found, and idle ones give a remark")
    func idle() throws {
        let fixture = try QuantizedFixture("packed")
        let values = try fixture.values()
        let scale = try #require(fixture.layers.first { $0.name == "int8.input_scale" })
        #expect(!matters(flipped(scale, isLowest: true), in: fixture, values))
        #expect(try fixture.opened { $0.remarks }.contains { $0.contains("activations are not quantized here") })
        for scheme in QuantizedSchemes.all { #expect(scheme.idleParts.allSatisfy { !$0.reason.isEmpty }) }
    }

    @Test("scales of blocks are those of the stated blocks where their numbers coincide")
    func coincidences() throws {
        let blocks = try QuantizedFixture("float8_blocks")
        let values = try blocks.values()
        #expect(values["layer.weight"] == blocks.golden[0].floats())
        // The same shape of scales, read as other blocks: the law can fail.
        let others = try blocks.values(block: blocks.block.setting("weight_block_size", [128, 128]))
        #expect(others["layer.weight"] != blocks.golden[0].floats())
        #expect(
            blocks.rejection(block: blocks.block.setting("weight_block_size", [64, 64]))?.contains("scales of [2,2]")
                == true)
        #expect(
            blocks.rejection(block: blocks.block.setting("weight_block_size", .null))?.contains("one scale") == true)

        let fixture = try QuantizedFixture("blocks")
        let layer = fixture.layers.filter { $0.name.hasPrefix("int8_blocks.") }
        // 64 scales of 64 rows, which are of 8 x 8 blocks: without a statement nobody knows.
        let unstated = fixture.rejection(layer, block: ["quant_method": "compressed-tensors"])
        #expect(unstated?.contains("does not state their blocks") == true)
        let arguments = "config_groups/int8_blocks/weights"
        for (strategy, size) in [("channel", JSON?.none), ("group", 8), ("tensor", nil)] {
            let block = fixture.block.setting("\(arguments)/strategy", .string(strategy))
                .setting("\(arguments)/group_size", size).setting("\(arguments)/block_structure", nil)
            #expect(fixture.rejection(layer, block: block)?.contains("scales of [8,8]") == true, "\(strategy)")
        }
        let swapped = fixture.block.setting("\(arguments)/block_structure", [4, 16])
        #expect(fixture.rejection(layer, block: swapped) != nil)
    }

    @Test("scales that fit several groups of layers in different ways are rejected")
    func ambiguous() throws {
        let fixture = try QuantizedFixture("float8_blocks")
        func weights(_ size: Int) -> JSON {
            [
                "targets": ["Linear"],
                "weights": [
                    "type": "float", "strategy": "block",
                    "block_structure": [JSON.integer(Int64(size)), JSON.integer(Int64(size))],
                ],
            ]
        }
        let layers = fixture.layers.map { tensor in
            tensor.renamed(tensor.name.replacing("weight_scale_inv", with: "weight_scale"))
        }
        func block(_ groups: JSON) -> JSON { ["quant_method": "compressed-tensors", "config_groups": groups] }
        #expect(fixture.rejection(layers, block: block(["a": weights(96)])) == nil)
        let error = fixture.rejection(layers, block: block(["a": weights(96), "b": weights(128)]))
        #expect(error?.contains("fit several groups") == true)
        // A group that names the layer is the one that is meant.
        let named = weights(96).setting("targets", ["layer"])
        #expect(fixture.rejection(layers, block: block(["a": named, "b": weights(128)])) == nil)
    }

    @Test("a field that nobody knows is rejected by name", arguments: QuantizedFixture.names)
    func fields(name: String) throws {
        let fixture = try QuantizedFixture(name)
        #expect(fixture.rejection() == nil)
        for field in ["adapter", "rotation"] {
            let error = fixture.rejection(block: fixture.block.setting(field, ["kind": "lora"]))
            #expect(
                error?.contains("\(field)") == true && error?.contains("unknown") == true, "\(field): \(error ?? "nil")"
            )
            // What is null asks for nothing.
            #expect(fixture.rejection(block: fixture.block.setting(field, .null)) == nil)
        }
    }

    /// A fixture, a field and its value, and words of the error; nil if it is accepted.
    private static let contradictions: [(String, String, JSON?, String?)] = [
        ("packed", "transform_config", ["config_groups": ["u": [:]]], "turned by a transform"),
        ("packed", "sparsity_config", ["format": "sparse-24-bitmask"], "sparse weights"),
        ("packed", "sparsity_config", ["format": "dense", "global_sparsity": 0.5], nil),
        ("packed", "quantization_status", "initialized", "not supported"),
        ("packed", "format", "marlin-24", "not supported"),
        ("packed", "kv_cache_scheme", ["num_bits": 8], nil),
        ("packed", "moe_sparsity_config", ["method": "prune"], "unknown"),
        ("packed", "config_groups/bits4/weights/num_bits", 3, "3 bits"),
        ("packed", "config_groups/bits4/weights/type", "float", "floating-point codes"),
        ("packed", "config_groups/bits4/weights/group_size", 16, "16 columns"),
        ("packed", "config_groups/bits4/weights/strategy", "channel", "no groups"),
        ("packed", "config_groups/bits4/weights/symmetric", false, "zero points"),
        ("packed", "config_groups/bits4_zeros/weights/symmetric", true, "symmetric"),
        ("packed", "config_groups/bits4/weights/dynamic", true, "run time"),
        ("packed", "config_groups/bits4/weights/rotation", "hadamard", "unknown"),
        ("packed", "config_groups/bits4/format", "int-quantized", "int-quantized"),
        ("gptq", "bits", 5, "bits"), ("gptq", "sym", true, "symmetric"),
        ("gptq", "group_size", 16, "16 columns"), ("gptq", "checkpoint_format", "gptq_p", "not supported"),
        ("gptq", "is_marlin_format", true, "GPU kernel"), ("gptq", "pack_dtype", "int64", "int32"),
        ("gptq_v2", "checkpoint_format", "gptq", "differs"), ("gptq_v2", "group_size", 64, "64 columns"),
        ("awq", "bits", 8, "8 bits"), ("awq", "group_size", 48, "48 columns"),
        ("awq", "zero_point", false, "symmetric"),
        ("awq", "version", "gemv", "not supported"), ("awq", "quant_method", "gptq", "AWQ"),
        ("hqq", "quant_config", ["weight_quant_params": ["nbits": 6]], "6 bits"),
        ("bitsandbytes", "load_in_8bit", true, "another scheme"),
        ("bitsandbytes", "bnb_4bit_use_double_quant", false, "another scheme"),
        ("torchao", "quant_method", "marlin", "not supported"), ("quanto", "weights", "float8", "floating-point"),
        ("mlx", "bits", 8, "8 bits"), ("mlx", "layer", false, "plain"), ("mlx", "nowhere", false, "unknown"),
        ("mlx", "quant_method", "anything", nil),
        ("float8_blocks", "fmt", "e5m2", "e5m2"), ("float8_blocks", "expert_dtype", "fp4", "not supported"),
        ("float8_blocks", "scale_fmt", "float", nil), ("float8_blocks", "quant_method", "fbgemm_fp8", "block FP8"),
    ]

    @Test("a field that contradicts the tensors is rejected", arguments: contradictions.indices)
    func contradicted(_ index: Int) throws {
        let (name, field, value, words) = Self.contradictions[index]
        let fixture = try QuantizedFixture(name)
        let error = fixture.rejection(block: fixture.block.setting(field, value))
        guard let words else { return #expect(error == nil, "\(name), \(field): \(error ?? "")") }
        #expect(error?.contains(words) == true, "\(name), \(field): \(error ?? "accepted")")
    }

    @Test("columns in another order than the configuration states are rejected")
    func order() throws {
        let fixture = try QuantizedFixture("gptq")
        let layer = fixture.layers.filter { $0.name.hasPrefix("ordered.") }
        func rejection(_ isOrdered: JSON) -> String? {
            fixture.rejection(layer, block: ["quant_method": "gptq", "bits": 4, "desc_act": isOrdered])
        }
        #expect(rejection(true) == nil)
        #expect(rejection(false)?.contains("columns are in order") == true)
    }

    @Test("files beside config.json follow the same law, and agree with it")
    func files() throws {
        let fixture = try QuantizedFixture("gptq_v2")
        func rejection(_ own: JSON?, _ text: String) -> String? {
            do {
                let document =
                    own.map { JSON.object([JSON.Member("quantization_config", $0)]).text(pretty: false) } ?? "{}"
                return try QuantizedFixture.opened(
                    fixture.layers, document, files: ["quantize_config.json": text]
                ) { source in
                    for weight in fixture.golden {
                        let name = String(weight.name.dropFirst(7))
                        let found = try source.weights.first { $0.name == name }?.values().floats()
                        if found != weight.floats() { return "other values" }
                    }
                    return nil
                }
            } catch { return "\(error)" }
        }
        let stated = #"{"checkpoint_format": "gptq_v2", "group_size": 32}"#
        #expect(rejection(nil, stated) == nil)
        #expect(
            rejection(nil, #"{"checkpoint_format": "gptq_v2", "rotation": 1}"#)?.contains(
                "quantize_config.json, field rotation") == true)
        // The second version is stated by the file only.
        #expect(rejection(fixture.block.setting("format", nil), stated) == nil)
        #expect(rejection(fixture.block, #"{"group_size": 64}"#)?.contains("differs from") == true)
        // Without it the zero points are other ones: the law can fail.
        #expect(rejection(nil, #"{"group_size": 32}"#) != nil)
    }

    @Test("ModelOpt's file beside config.json states how weights share scales")
    func modelOpt() throws {
        let fixture = try QuantizedFixture("float8")
        func rejection(_ layer: String, _ text: String) -> String? {
            do {
                return try QuantizedFixture.opened(
                    fixture.layers.filter { $0.name.hasPrefix("\(layer).") }, "{}",
                    files: ["hf_quant_config.json": text]
                ) { _ in nil }
            } catch { return "\(error)" }
        }
        func document(_ algorithm: String, _ more: String = "") -> String {
            #"{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "\#(algorithm)"\#(more)}}"#
        }
        #expect(
            rejection("tensor", document("FP8", #", "kv_cache_quant_algo": "FP8", "exclude_modules": ["head"]"#)) == nil
        )
        #expect(rejection("rows", document("FP8_PER_CHANNEL_PER_TOKEN")) == nil)
        #expect(rejection("rows", document("FP8"))?.contains("states one scale") == true)
        #expect(rejection("tensor", document("W4A8_AWQ"))?.contains("W4A8_AWQ") == true)
        #expect(
            rejection("tensor", document("FP8", #", "rotation": 1"#))?.contains(
                "hf_quant_config.json, field quantization.rotation") == true)
    }

    @Test("the metadata of torchao's files are checked against the tensors")
    func metadata() throws {
        let fixture = try QuantizedFixture("torchao")
        func rejection(_ old: String, _ new: String) -> String? {
            let changed = fixture.metadata.map { ($0.key, $0.value.replacing(old, with: new)) }
            do {
                return try QuantizedFixture.opened(
                    fixture.layers, fixture.configuration.text(pretty: false), metadata: changed
                ) { _ in nil }
            } catch { return "\(error)" }
        }
        #expect(rejection("nothing", "") == nil)
        #expect(rejection("[1, 32]", "[1, 16]")?.contains("1 x 16") == true)
        #expect(rejection("[1, 64]", "[64, 1]") != nil)
        #expect(rejection("\"int4\"", "\"int2\"")?.contains("int2") == true)
        #expect(rejection("Int8Tensor", "Int4Tensor")?.contains("Int4Tensor") == true)
        // The product of the tool does not subtract zero points of rows.
        let zeros = try #require(fixture.layers.first { $0.name == "int8._weight_zero_point" })
        let others = fixture.layers.filter { $0.name != zeros.name } + [flipped(zeros, isLowest: true)]
        #expect(fixture.rejection(others)?.contains("does not subtract") == true)
        #expect(rejection("reduce_range", "hadamard")?.contains("hadamard") == true)
        #expect(rejection("act_pre_scale", "act_post_scale")?.contains("act_post_scale") == true)
    }
}
