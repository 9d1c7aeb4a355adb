int main() {}  // provides the precompiled headers of tests and benchmark programs
