import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    testTimeout: 60_000, // how fast a machine is, is no matter of these
    environment: "node",
    reporters: ["dot"],
    include: ["tests/**/*.test.ts"],
  },
});
