#!/usr/bin/env python3
"""Writes the fields that transformers' classes define, with their defaults: Sources/AccelModelFamilies/Configuration/ConfigurationClassTable.swift.

usage: config_fields.py [--check]     needs transformers at the version of scripts/peers/requirements.txt; --check: exit status 1 if the file differs

A field is defined if the class of the configuration takes it, or if the code that builds the model reads it: that of the class, and
that which all models share. transformers ignores all others.
"""
import importlib
import inspect
import json
import re
import sys
from pathlib import Path

import transformers
from transformers import cache_utils, masking_utils, modeling_rope_utils
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "Sources/AccelModelFamilies/Configuration/ConfigurationClassTable.swift"
TYPES = """bert camembert clip clip_text_model clip_vision_model distilbert gemma gemma3_text gpt2 hubert llama mistral modernbert moonshine mpnet
parakeet_ctc parakeet_encoder parakeet_rnnt parakeet_tdt phi3 qwen2 qwen3 roberta siglip siglip_vision_model vit wav2vec2 whisper xlm-roberta""".split()
READ = re.compile(r"""(?:\bconfig|_config)\.([a-z_]\w*)|getattr\(\s*(?:self\.)?\w*config\w*,\s*["'](\w+)["']""")
MEMBER = re.compile(r"""(?:rope_parameters|rope_parameters_dict|rope_scaling|params)(?:\.get\(|\.pop\(|\[|\.setdefault\(\s*)["'](\w+)["']""")
# Methods and properties, which no file holds.
NOT_FIELDS = re.compile(r"^(to_\w+|from_\w+|save_\w+|update|get|get_\w+|copy|sub_configs|base_config_key|_\w+|convert_\w+|validate\w*|standardize\w*|ignore_\w+|json|default_theta)$")


def read_fields(module):
    return {a or b for a, b in READ.findall(inspect.getsource(module))}


def own_fields(config_class):
    """The fields that a class takes, with the defaults that JSON says in a line."""
    instance = config_class()
    values = instance.to_dict()
    names = set(inspect.signature(config_class.__init__).parameters) | set(config_class.attribute_map) | set(values)
    fields = {}
    for name in names - {"self", "kwargs", "args"}:
        value = values.get(name, getattr(instance, name, None))
        fields[name] = value if isinstance(value, (int, float, str, bool)) else None
    return fields


def fields_of(config_class):
    fields = own_fields(config_class)
    package = config_class.__module__.rsplit(".", 1)[0]
    modules = [importlib.import_module(f"{package}.modeling_{package.rsplit('.', 1)[-1]}")]
    if "rope_parameters" in fields:
        # The older names, which the base class converts; the code of caches and masks is that of decoders.
        modules += [cache_utils, masking_utils, modeling_rope_utils]
        fields |= dict.fromkeys(["rope_theta", "rope_scaling", "partial_rotary_factor"])
        members = set(MEMBER.findall(inspect.getsource(modeling_rope_utils))) | {"type", "full_attention", "sliding_attention"}
        fields |= {f"{name}.{member}": None for name in ("rope_parameters", "rope_scaling") for member in members}
    for module in modules:
        for field in read_fields(module):
            fields.setdefault(field, None)
    fields = {name: value for name, value in fields.items() if not NOT_FIELDS.match(name)}
    for path, part in config_class.sub_configs.items():
        fields |= {f"{path}.{name}": value for name, value in fields_of(part).items()}
    return fields


def line(type_name):
    fields = fields_of(CONFIG_MAPPING[type_name])
    words = [name if value is None else f"{name}={json.dumps(value)}" for name, value in sorted(fields.items())]
    if any(" " in word for word in words):
        raise SystemExit(f"{type_name}: a default has a space")
    return " ".join([type_name, *words])


def main():
    lines = "\n".join(f"        {line(name)}" for name in TYPES)
    text = f'''// Made by scripts/config_fields.py from transformers {transformers.__version__}.

extension ConfigurationClass {{
    /// A line for each type of model: its name, and the fields of its class, with the default where JSON has a word for it.
    static let table = #"""
{lines}
        """#
}}
'''
    if "--check" in sys.argv:
        sys.exit(TARGET.read_text() != text and f"config_fields: {TARGET.name} is not what transformers {transformers.__version__} defines")
    TARGET.write_text(text)


if __name__ == "__main__":
    main()
