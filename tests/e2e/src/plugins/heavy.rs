//! A component that is as much work to compile as one of JavaScript, and does what it did before.

use wasm_encoder::{
    CodeSection, ComponentSection as _, Function, FunctionSection, Module, ModuleSection, TypeSection,
    ValType,
};

/// Steps of each function. Each needs two registers and one constant, so that the compiler has something to decide.
const STEPS: i64 = 250;

/// The same component with a module of this many functions beside it, which nobody calls. A compiler has to take them
/// all.
pub fn heavy(component: &[u8], functions: u32) -> Vec<u8> {
    let mut types = TypeSection::new();
    types.ty().function([ValType::I64, ValType::I64], [ValType::I64]);
    let (mut declared, mut code) = (FunctionSection::new(), CodeSection::new());
    for number in 0..functions {
        declared.function(0);
        code.function(&function(i64::from(number)));
    }
    let mut module = Module::new();
    module.section(&types).section(&declared).section(&code);
    let mut bytes = component.to_vec();
    ModuleSection(&module).append_to_component(&mut bytes);
    bytes
}

fn function(number: i64) -> Function {
    let mut function = Function::new([]);
    let mut steps = function.instructions();
    for step in 0..STEPS {
        let (one, other) = if step % 2 == 0 { (0, 1) } else { (1, 0) };
        steps
            .local_get(one)
            .local_get(other)
            .i64_const(constant(number, step))
            .i64_xor()
            .i64_mul()
            .local_set(one);
    }
    steps.local_get(0).end();
    function
}

/// Some of them do not compress: data that shrinks to a hundredth is taken for a bomb.
fn constant(number: i64, step: i64) -> i64 {
    if step % 25 == 0 { (number * STEPS + step).wrapping_mul(0x5851_f42d_4c95_7f2d) } else { number + step }
}
