import AccelByteIO
import AccelText
import Foundation

// TextTool check FOLDER [NAME ...]      compares all goldens that scripts/tokenizer_goldens.py made
// TextTool bench TOKENIZER.json TEXT    time of encoding each line of a text
// TextTool load TOKENIZER.json          time of reading
let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "check": exit(try Check(folder: arguments[2], only: Array(arguments.dropFirst(3))).run())
case "bench": try Bench.encode(arguments[2], arguments[3])
case "load": try Bench.load(arguments[2])
default:
    print("TextTool check FOLDER [NAME ...] | bench TOKENIZER.json TEXT | load TOKENIZER.json")
    exit(2)
}
