"""The command `dtype` and the preloaded library for the MPI library of the spec.

    spack repo add packaging/spack/spack_repo/dtype
    spack dev-build dtype-mpi@develop ^openmpi     # from the folder of the checkout
    spack load dtype-mpi
    dtype run mpiexec -n 2 ./program
"""

import os

from spack_repo.builtin.build_systems.generic import Package

from spack.package import *


class DtypeMpi(Package):
    """Faster MPI messages of structs and parts of arrays, for programs in any language, without compiling
    them again; and a command that finds the least-cost MPI datatype of a memory layout."""

    license("MIT OR Apache-2.0")

    version("develop")

    variant("preload", default=True, description="Build the library that programs preload")

    depends_on("rust@1.91:", type="build")
    depends_on("c", type="build")
    depends_on("mpi", when="+preload")
    depends_on("llvm+clang", type="build", when="+preload")

    conflicts("^openmpi@:3", msg="Open MPI 4 or newer")
    conflicts("^mpich@:3", msg="MPICH 4 or newer")

    def setup_build_environment(self, env):
        env.set("CARGO_HOME", os.path.join(self.stage.path, "cargo"))
        if self.spec.satisfies("+preload"):
            env.set("MPICC", self.spec["mpi"].mpicc)
            env.set("LIBCLANG_PATH", self.spec["llvm"].prefix.lib)

    def install(self, spec, prefix):
        cargo = which("cargo", required=True)
        cargo("install", "--locked", "--path", "dtype-cli", "--root", prefix)
        if spec.satisfies("+preload"):
            cargo("build", "--locked", "--profile", "preload", "--package", "dtype-interpose")
            folder = join_path(prefix.lib, "dtype-mpi")
            mkdirp(folder)
            for name in self.served():
                install(
                    "target/preload/libdtype_mpi.so", join_path(folder, f"libdtype_mpi-{name}.so")
                )

    def served(self):
        """Returns the names by which `dtype run` looks for this library: those of the MPI library and of its
        kin with the same ABI."""
        mpi = self.spec["mpi"]
        if mpi.name == "openmpi":
            return [f"openmpi-{mpi.version.up_to(1)}"]
        return ["mpich-4", "mpich-5"]
