// The program to which the precompiled headers of the tests belong (DriverUpgradeTests.cmake).
int main() { return 0; }
