import AccelByteIO
import AccelTensors
import AccelWeightCompression
import TestSupport
import Testing

@testable import AccelPackages

/// Caches outlive the tool that filled them. When one of these digests changes, results of the version before must not
/// be taken for those of this one: raise the codec's `numericsVersion`, and write down the new digests.
@Suite("What the numerics versions of codecs stand for")
struct NumericsVersionTests {
    private static let versions = [
        "affine": 3, "bfloat16": 1, "float16": 1, "float32": 1, "float8": 1, "int4": 1, "int8": 1, "nf4": 1,
        "mxfp4": 1, "mxfp8": 1, "nvfp4": 1,
        "fp4": 1, "hqq": 2, "flat": 1, "permuted": 1,
        "outliers": 1, "palette": 1, "sparse": 1, "stored": 1, "vector": 1,
        "q8_0": 1, "q4_0": 1, "q4_1": 1, "q5_0": 1, "q5_1": 1, "iq4_nl": 1, "iq4_xs": 1, "tq1_0": 1, "tq2_0": 1,
        "iq3_s": 1, "iq3_xxs": 1, "iq2_s": 1, "iq2_xs": 1, "iq2_xxs": 1,
        "q2_k": 1, "q3_k": 1, "q4_k": 1, "q5_k": 1, "q6_k": 1,
    ]
    /// Schemes whose blocks are of 256 columns.
    private static let wide = [
        "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_xs", "iq3_s", "iq3_xxs", "iq2_s", "iq2_xs", "iq2_xxs", "tq1_0",
        "tq2_0",
    ]
    private static let digests: [String: String] = [
        "affine:bits=4,block=32": "209eaff675175a22b636875f67aaeef6bdd871a21087dab92ae63604edff6ca0",
        "q8_0": "c5426b27f0ab7b301c4b4aa057b5070b4768ba8886fc87bbfa0d4de3a20e90b5",
        "q4_0": "7e2a6db6f310c4db0a8e1684cf059da9cb78179389ae968981a4e1647ca17d8b",
        "q4_1": "2b27e8d686b13ad67145b7613f3bbbd1a748f73628299f6b5fcf80234ded4bd6",
        "q5_0": "c0494208b33b32775ec18d74008108bff10121a8c2c1350bcc987470d3458fdc",
        "q5_1": "2a91bbacd4ab911d79557e7f77e9cf1679555e8d53ac113c3474fe134a0d2da1",
        "iq4_nl": "0072f99ce683c1d5a0164724a80717819a246f0e4e8367f3b711d20c13f63492",
        "iq4_xs": "9bae9f2bc4f62d8fff89c1c6d368dfef9b37df2af1e4d969d9554e354ce8128f",
        "iq3_s": "e711a43ab3a060d52552e0fc42ae2e2c9ab2298ebc60dbcec99dfa8e8dd295dd",
        "iq3_xxs": "f3377ffc5ee9ee08f864f37a54f54f92de88ca04447cff7c08e9877c52eb9cb6",
        "iq2_s": "4e0bddebe1133758ef2ef0b1e3da096c25e8b0496c7367b6fdd3c6d24e3ad89d",
        "iq2_xs": "8b7a3af313195935aaccffb9ab037bc4e9ab4cbdf1624af153d3ace76fca9a9f",
        "iq2_xxs": "bbdfcffc331ab48d3bb0d660f73857d7b153fbaf50dd4a1d970f9fdf333debb0",
        "tq1_0": "b6a425205ee1c23df9b5d8ef3b1f0b56497eb309628b6ec6e727953a7a378c01",
        "tq2_0": "1ec01c98b455d6ff259565b486fab59407bd9ea55b89bf838418cf7b69a9e6cd",
        "q2_k": "63a88f50d2dfef40a857ff41771a28c93eecb7b6addc698d05fc4e9c24ebae82",
        "q3_k": "c161cec1c36e5f1bb2dffb5307bfff4917358b8357cdf255139d8aa7c366e1f6",
        "q4_k": "1dd52b25e561e5bd527f9a58fd1891800dd489bb4a72f8d2f6b80b0ac2bc16e4",
        "q5_k": "5a85d103df812bf2b9ee9cb6aa0a2dfed42ab0f3e8c8ccf965f231866327b7e0",
        "q4_k:fit=mse": "66cdc64412f39d3b964775deae3b46b82dda9a706fba0f50fc0d57dd011e3605",
        "q4_0:method=weighted": "ae7303c957c175d51d10e32374db7240b155f2832c820051505cfd43b8b2865a",
        "iq4_xs:fit=mse,method=weighted": "0aa56ea3a6b61fe776f0f9b39bea364bfd794374d8a22fff1c88afbda5d199ac",
        "q6_k": "e975473a33aaf9ccbb6bbb01457bd214cffd0055473498c5fe8fce3032d98fd6",
        "mxfp4": "e8252ff74f37e1e7580b335d1ae82b5d44532a6215686fd8cf9d0f367d0c35c4",
        "mxfp8": "5298db3c601e0cf2a2362a7c731cc05020d350a7fdadac2195fc9c369f9d7b40",
        "mxfp8:type=e5m2": "d862577bfa4026e07d8f16dfc6efbe7ad08817e244208a33ebc5f27218c32b6e",
        "nvfp4": "b990cb9010b4b64abb4e349769a77b81ecb5ec5987f874794defb4f459ed5736",
        "nvfp4:global=divisor": "75e245d87407f2052f5bff709398d0f434b31a3ddf1a27a30ee3d54faea1dcb0",
        "fp4": "90e2fca8b5ac80d9473ad3da98c30f282c08e84e4c3e5c5f189119abad1a1b6f",
        "hqq:bits=4": "534d5a6fdb2de2b1bc660b6e1d1c8b07320002d6bfcff511e08ab79526761082",
        "hqq:bits=1": "98fb6f5314dd3f8085f05613ebcd1b8b7797ec29ca6ef3ddf44609dcd9de8a97",
        "hqq:bits=3,axis=0": "8a545a941d9de72020a6554aab3c8c1268252319c8be05809d9256c03e87d7c2",
        "flat:row=64+nf4": "3f78512b113521feff0a6584e854c99c8a5ef4a9fbaf37be9330ea8a4d560470",
        "permuted+int4": "279a488facfc3d8a6377459a6c2ca5d24ab379ff8f6163da0acb8f2fe1ed2bf3",
        "nf4:block=32": "3f78512b113521feff0a6584e854c99c8a5ef4a9fbaf37be9330ea8a4d560470",
        "outliers:share=0.01+int4": "1b593753513c21f379ced6eb10075e44ef59e18954a6aa08fb42faeb632294f4",
        "sparse:target=0.5+int8": "29b64afe1852b64d8a83817370b020513f5fad36fef2362fab9a27090c422721",
        "stored": "606a33b42ab1b4d851ff764e20b8882c73ec1c9d6a47d1cd315536c7e4d6946d",
        "vector:bits=6,size=2": "b1f2605ade5f4e6d350e4bc861b3200490144b56acd58292adca0f93c977deaa",
        "bfloat16": "1a9f8e464d15edcb3439c653e52d663ead10005576fce51e759c484c830b24e0",
        "float16": "147a2fd8c7e7cbf678923896b49c9082b00cc632d938e82d3a64842ddd6b210f",
        "float32": "606a33b42ab1b4d851ff764e20b8882c73ec1c9d6a47d1cd315536c7e4d6946d",
        "float8": "979a8f26214ac7353b0724a0e9cbb6820e388103ac5fe10928d14806519414aa",
        "float8:type=e5m2,scale=block": "c3122f1576e2a600ab5eae707b50e26a44331a00c27fe52dceb296bf320b4bd0",
        "int4:block=32": "ef1566695d798ae5f28eb5a0b1e199cebd47e86ff24802d6abc2969769514d0f",
        "int4:fit=absmax": "35c5d5211bf71d1bffd6289fa70d954e80828f1e3875e314c16b20227f5ada01",
        "int4:mode=asymmetric": "ed2818966e7fd712b009ca048b9f84ccc0fd2190111cf6ada5ddaacfaf6a0a3b",
        "int8": "7be83c2ea763d0feaf5d8ba44f6df032702633730974f92b13c30f6a5f4c8efa",
        "int8:axis=tensor": "f01a51aaec9869ab79693294e210cf5eae64a04b6fc623481531b76e4e5e59d8",
        // Its codes are the nearest, of a weight that may have been scaled.
        "int4:method=awq": "ef1566695d798ae5f28eb5a0b1e199cebd47e86ff24802d6abc2969769514d0f",
        "affine:bits=4,block=32,method=gptq": "3a00054c59786538dff1aad29f2bbfec441d8319c643d8c070603c25188991f7",
        "nf4:block=32,method=gptq": "cf8c9102b651f89b6fa61e9de7fd41e587dd501eb7db767ee50ebb71a6f53711",
        "mxfp4:method=gptq": "38ec5cfb21b66f87d1fae6d4887164959635348b6954bc06515d928a50f275f2",
        "iq4_nl:method=gptq": "2deb6072c35faa113992c781c8c5d96485b53dbb82b838b01579bdabf879ed85",
        "q4_k:method=gptq": "aca15982a79dc0aacfed3818bcdc4553e2c94bc518d0c197fd6717bd85332ca6",
        "q6_k:fit=mse,method=gptq": "e9cb683c77cfcb8f619323dd4d07832df40ad04d4fb1ab57c7d37edb14e705d0",
        "int4:method=gptq": "7ba60c4d6e1465707af2604876d182325de2da6ba1abeb60991655f80beb9517",
        "palette:bits=4,group=16,method=gptq": "5c56d01c1eb46c4441a6ff168b1551b1351a975342adf9badcb1d276f14dfeb5",
        "palette:bits=4,method=weighted": "1ab490dffe13f794652e9a63c639a1728764f01bf9bb49ca4f098faa51b2d181",
        "palette:bits=3": "f35562fa0410735d2c9232e85406de2eeeba28e20846afe20cee9ea84ca688b2",
        "palette:bits=4,group=16": "dc5798a35c0112ccdca574bd24243e61ca3ebc3b9ac1e59dc035e08efee80170",
        "palette:bits=4,group=16,scale=channel": "053e2ad90bb1b962f909810a79fc7b9212a12d014fa6ce0b6c672a0b813249e9",
    ]

    @Test("each codec has a version, and digests of what it stores by it")
    func covered() {
        #expect(Codecs.numericsVersions == Self.versions && Tool.calibrationVersion == 12)
        #expect(Set(Self.digests.keys.map { String($0.prefix { $0 != ":" && $0 != "+" }) }) == Set(Self.versions.keys))
    }

    @Test("stored bytes are those of this numerics version", arguments: digests.keys.sorted())
    func codec(specification: String) throws {
        var generator = SeededGenerator(seed: 1)
        let floats = (0..<40 * 96).map { _ in Float.random(in: -2...2, using: &generator) }
        let source = StoredTensor(
            name: "w", floats: floats, shape: Self.wide.contains(specification) ? [15, 256] : [40, 96])
        // A codec without a method passes it over.
        var (moments, drift) = ([Float](), [Float]())
        for place in 0..<96 * 96 {
            let (row, column) = place.quotientAndRemainder(dividingBy: 96)
            moments.append(row == column ? 1 + Float(row) / 96 : 0.25)
            drift.append(Float((row * 7 + column * 3) % 11 - 5) / 128)
        }
        let statistics = ActivationStatistics(columns: 96, count: 1, moments: moments, drift: drift)
        let (tensor, _) = try CompressedTensor.compressing(
            source, with: try Codecs.codec(specification),
            given: source.shape.columns == 96 ? statistics : nil, threads: 2)
        let digest = SHA256.digest(of: ByteView(tensor.joinedParts.flatMap(\.array)))
        #expect("\(specification) \(digest)" == "\(specification) \(Self.digests[specification] ?? "")")
    }
}
