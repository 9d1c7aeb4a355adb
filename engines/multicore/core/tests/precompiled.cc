int main() {}  // has the precompiled headers that tests and benchmark programs take
