/// A piece of a template.
struct Token {
    enum Kind: Equatable {
        case data(Text)
        case variableBegin, variableEnd, blockBegin, blockEnd
        case name(String)
        case string(Text)
        case integer(Int)
        case float(Double)
        /// An operator or a mark, such as `**`.
        case mark(String)
        case end
        /// A text that is no token. It is an error when the parser gets to it.
        case failure(String)
    }
    let kind: Kind
    let line: Int

    /// The token as an error shows it.
    var description: String {
        switch kind {
        case .data: "template data / text"
        case .variableBegin: "begin of print statement"
        case .variableEnd: "end of print statement"
        case .blockBegin: "begin of statement block"
        case .blockEnd: "end of statement block"
        case .name(let name): name
        case .string: "string"
        case .integer: "integer"
        case .float: "float"
        case .mark(let mark): mark
        case .end: "end of template"
        case .failure(let reason): reason
        }
    }
}
