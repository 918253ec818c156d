// The names that examples use without saying where they come from. scripts/docs.sh compiles each example after these lines.
import Accel
import AccelAudio
import AccelByteIO
import AccelCPURuntime
import AccelCalibration
import AccelChatTemplates
import AccelConversion
import AccelEvaluation
import AccelFormats
import AccelFrontEnds
import AccelHostTools
import AccelHub
import AccelImages
import AccelModelFamilies
import AccelPackages
import AccelPrograms
import AccelTensors
import AccelText
import AccelVerification
import AccelWeightCompression

func given<Value>(_ type: Value.Type = Value.self) -> Value { fatalError("examples are compiled, not run") }
// Paths, names and numbers.
var path: String { given() }
var name: String { given() }
var n: Int { given() }
// A package, its functions and their inputs.
var package: AcceleratorPackage { given() }
var program: ModelPlan { given() }
var programs: [Program] { given() }
var session: Session { given() }
var prefill: Int { given() }
var step: Int { given() }
var prompt: StoredTensor { given() }
var start: StoredTensor { given() }
var position: StoredTensor { given() }
var token: StoredTensor { given() }
var file: SafetensorsFile { given() }
// A conversion and its cache.
var conversion: Conversion { given() }
var cache: Cache? { given() }
var digests: ModelDigests { given() }
var recipe: Recipe { given() }
var functions: [FrozenProgram] { given() }
// A program that is being built.
var builder: ProgramBuilder {
    get { given() }
    set {}
}
var config: JSON { given() }
var type: TensorType { given() }
var table: Value { given() }
// An app's model, its inputs, and the store that it comes from.
var model: AccelModel { given() }
var folder: String { given() }
var store: ModelStore { given() }
var tensor: AccelTensor { given() }
var tokens: AccelTensor { given() }
var mask: AccelTensor { given() }
var segments: AccelTensor { given() }
var verifier: any SignatureVerifier { given() }
// A tokenizer, its tokens, a template, and a text's model.
var tokenizer: Tokenizer { given() }
var ids: [TokenID] { given() }
var merges: [String] { given() }
var source: String { given() }
var messages: JSON { given() }
var words: [String] { given() }
var microphone: AsyncStream<Sound> { given() }
var orpheus: AccelModel { given() }
var snac: AccelModel { given() }
var stream: TokenStream { given() }
var frames: [CodeFrame] { given() }
var vocoder: CodeVocoder {
    get { given() }
    set {}
}
func play(_: Sound) {}
var variables: [String: String] { given() }
