//! The tuples that traits are implemented for.

/// Calls a macro for each tuple, of 0 to 12 elements, with the name and the number of each element.
macro_rules! for_each_tuple {
    ($implement:ident) => {
        $implement! {}
        $implement! { A 0 }
        $implement! { A 0 B 1 }
        $implement! { A 0 B 1 C 2 }
        $implement! { A 0 B 1 C 2 D 3 }
        $implement! { A 0 B 1 C 2 D 3 E 4 }
        $implement! { A 0 B 1 C 2 D 3 E 4 F 5 }
        $implement! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 }
        $implement! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 }
        $implement! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 }
        $implement! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 }
        $implement! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 }
        $implement! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 }
    };
}
