// Made by scripts/unicode_tables.py. Tables for Unicode text, as lists of ranges and runs.
#pragma once
#include <stdint.h>

/// A table.
typedef struct {
    const uint32_t *values;
    int32_t count;
} accelc_unicode_list;

/// General category, in the order of `GeneralCategory`. Runs: first scalar << 8 | value, up to the next run.
accelc_unicode_list accelc_unicode_categories(void);
/// `\w` in the patterns of Split and Replace. Ranges: first scalar, scalar after the last.
accelc_unicode_list accelc_unicode_pattern_word(void);
/// White space, in patterns and in every component. Ranges: first scalar, scalar after the last.
accelc_unicode_list accelc_unicode_white_space(void);
/// `\w` of the pre-tokenizer Whitespace and of added tokens. Ranges: first scalar, scalar after the last.
accelc_unicode_list accelc_unicode_word(void);
/// What the pre-tokenizer Digits splits at. Ranges: first scalar, scalar after the last.
accelc_unicode_list accelc_unicode_numeric(void);
/// What Punctuation and BertPreTokenizer split at. Ranges: first scalar, scalar after the last.
accelc_unicode_list accelc_unicode_punctuation(void);
/// What BertNormalizer removes as control characters. Ranges: first scalar, scalar after the last.
accelc_unicode_list accelc_unicode_bert_control(void);
/// What BertNormalizer removes as accents. Ranges: first scalar, scalar after the last.
accelc_unicode_list accelc_unicode_bert_marks(void);
/// What StripAccents removes. Ranges: first scalar, scalar after the last.
accelc_unicode_list accelc_unicode_marks(void);
/// Lower case. The scalars that change, ascending.
accelc_unicode_list accelc_unicode_lowercase_keys(void);
/// Of each: index of its first scalar in the data << 8 | number of scalars.
accelc_unicode_list accelc_unicode_lowercase_heads(void);
/// The scalars that they become.
accelc_unicode_list accelc_unicode_lowercase_data(void);
/// Canonical decompositions without Hangul syllables. The scalars that change, ascending.
accelc_unicode_list accelc_unicode_canonical_keys(void);
/// Of each: index of its first scalar in the data << 8 | number of scalars.
accelc_unicode_list accelc_unicode_canonical_heads(void);
/// The scalars that they become.
accelc_unicode_list accelc_unicode_canonical_data(void);
/// Compatible decompositions that differ from canonical ones. The scalars that change, ascending.
accelc_unicode_list accelc_unicode_compatible_keys(void);
/// Of each: index of its first scalar in the data << 8 | number of scalars.
accelc_unicode_list accelc_unicode_compatible_heads(void);
/// The scalars that they become.
accelc_unicode_list accelc_unicode_compatible_data(void);
/// Canonical combining class. Runs: first scalar << 8 | value, up to the next run.
accelc_unicode_list accelc_unicode_combining(void);
/// Canonical compositions: first, second, composed; without Hangul.
accelc_unicode_list accelc_unicode_compositions(void);
/// Class of the pre-tokenizer UnicodeScripts; 0 joins any other. Runs: first scalar << 8 | value, up to the next run.
accelc_unicode_list accelc_unicode_script_classes(void);
/// Script in patterns: an index into the names, from 1; 0 for none. Runs: first scalar << 8 | value, up to the next run.
accelc_unicode_list accelc_unicode_scripts(void);
/// Class for grapheme breaks: Other, CR, LF, Control, Extend, ZWJ, RI, Prepend, SpacingMark, L, V, T, LV, LVT, ExtPict, Consonant, Linker, ExtendInCB. Runs: first scalar << 8 | value, up to the next run.
accelc_unicode_list accelc_unicode_graphemes(void);
/// Sets of scalars that are equal in (?i): count, then the scalars.
accelc_unicode_list accelc_unicode_case_classes(void);
/// Names of the scripts in patterns, one a line, in the order of their numbers.
const char *accelc_unicode_script_names(void);
