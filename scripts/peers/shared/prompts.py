"""Prompts of several languages, of code, of structured text, and conversations."""

RAW = [
    "The capital of France is",
    "Once upon a time, in a small village by the sea,",
    "Photosynthesis is the process by which",
    "Die Hauptstadt von Deutschland ist",
    "Il était une fois une petite fille qui",
    "El cambio climático es",
    "日本の首都は",
    "Привет, меня зовут",
    "def fibonacci(n):\n    \"\"\"Return the n-th Fibonacci number.\"\"\"\n",
    "#include <stdio.h>\n\nint main(void) {\n",
    "SELECT name, age FROM users WHERE",
    "{\"name\": \"Alice\", \"age\": 30, \"languages\": [",
    "1, 1, 2, 3, 5, 8, 13,",
    "# Shopping list\n\n- 2 eggs\n- 1.5 l milk\n-",
]

CHAT = [
    [{"role": "user", "content": "Why is the sky blue?"}],
    [{"role": "user", "content": "Write a haiku about autumn."}],
    [{"role": "user", "content": "Was ist 17 + 25? Antworte kurz."}],
    [{"role": "system", "content": "You are a pirate."}, {"role": "user", "content": "Introduce yourself."}],
    [{"role": "user", "content": "Name three colours."}, {"role": "assistant", "content": "Red, green and blue."},
     {"role": "user", "content": "And three more?"}],
    [{"role": "user", "content": "Explain in one sentence what `git rebase` does.\n\nThanks! 😀"}],
]
