import AccelByteIO
import AccelPrograms
import AccelTensors
import TestSupport
import Testing

@testable import AccelPackages

@Suite("Written documents satisfy the published schemas")
struct PackageSchemaTests {
    @Test(
        "manifest.json and source-map.json",
        arguments: [("manifest.json", "manifest.schema.json"), ("source-map.json", "source-map.schema.json")])
    func schemas(document: String, schema: String) throws {
        try withTemporaryFolder { folder in
            for compress in ["float32", "float16"] {
                var contents = try TinyModel(compress: compress).contents()
                contents.coverage[2].scaling = ChannelScaling(columns: (0..<32).map { $0 % 9 - 4 })
                contents.provenance.remarks = compress == "float16" ? ["model, batch=1: one at a time"] : []
                contents.provenance.ignoredTensors = compress == "float16" ? ["*.extra"] : []
                contents.provenance.logits = compress == "float16" ? .last : .all
                try PackageWriter.write(contents, to: "\(folder)/p")
                let manifest = try AcceleratorPackage(at: "\(folder)/p").manifest
                #expect(manifest.provenance.remarks == contents.provenance.remarks)
                #expect(manifest.provenance.ignoredTensors == contents.provenance.ignoredTensors)
                #expect(manifest.provenance.logits == contents.provenance.logits)
                let written = try JSON.read("\(folder)/p/\(document)")
                #expect(try JSONSchema(named: schema).violations(of: written) == [])
                // A schema that allows anything would say nothing.
                #expect(try JSONSchema(named: schema).violations(of: ["more": 1]) != [])
            }
        }
    }
}
