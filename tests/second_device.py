"""A GPU played on the CPU: values stay where they are, and what a GPU refuses is refused.

Within :class:`SecondDevice`, PyTorch says that it has CUDA. A tensor that is made there, or moved
there, is marked, and so is what is computed from it. Then RuntimeError is raised, as by CUDA,
where an operation gets a marked tensor and one that is not marked, and TypeError where a marked
tensor becomes a NumPy array. Numbers and tensors of no axis may go along with marked ones.
"""

import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo  # before anything is replaced that it looks up
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils.weak import WeakIdKeyDictionary

DEVICE = torch.device("cuda", 0)
ACROSS = {"to", "cuda", "cpu", "copy_", "__setitem__", "_has_compatible_shallow_copy_type"}
FROM_VALUES = {"tensor", "as_tensor"}  # read numbers out of a list of tensors
TO_NUMPY = {"numpy", "__array__"}


class SecondDevice(TorchFunctionMode):
    """While it is active, PyTorch has a second device, called cuda.

    ``read_on`` and ``trained_on`` are the kinds of device on which models were read, and on which
    gradients were computed.
    """

    def __init__(self) -> None:
        super().__init__()
        self.marked = marked = WeakIdKeyDictionary()

        def make_subclass(
            cls: type, data: Tensor, requires_grad: bool = False, **kwargs: Any
        ) -> Tensor:
            """As nn.Parameter makes itself from a tensor, of which no mode hears."""
            plain = torch._C.TensorBase._make_subclass
            parameter: Tensor = plain(cls, data, requires_grad, **kwargs)
            if data in marked:
                marked[parameter] = True
            return parameter

        self.read_on: set[str] = set()
        self.trained_on: set[str] = set()
        self._patches: list[Any] = [
            unittest.mock.patch.object(torch.cuda, "is_available", return_value=True),
            unittest.mock.patch.object(torch.accelerator, "synchronize"),
            unittest.mock.patch.object(torch.Tensor, "_make_subclass", make_subclass),
        ]

    def __enter__(self) -> "SecondDevice":
        for patch in self._patches:
            patch.start()
        self._hook = register_module_forward_pre_hook(self._note_model)
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        self._hook.remove()
        for patch in self._patches:
            patch.stop()

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(func, "__name__", "")
        tensors = list(tensors_in((args, kwargs)))
        if name in ("__get__", "__set__"):
            return self._attribute(func, name, args, tensors)
        if name == "_parse_to":  # of Module.to: which device, not a move
            return func(*args, **kwargs)
        on_device = [tensor for tensor in tensors if tensor in self.marked]
        if name in TO_NUMPY and on_device:
            raise TypeError("can't convert cuda:0 device type tensor to numpy; .cpu() copies it")
        target, args, kwargs = self._target(name, args, kwargs)
        if name in FROM_VALUES and not isinstance(args[0], Tensor):
            on_device = []
        self._refuse_mixed(name, args, tensors, on_device)
        if name == "backward":
            self.trained_on.add("cuda" if on_device else "cpu")
        goes_there = bool(on_device) if target is None else target.type == "cuda"
        if kwargs.get("generator") is not None and goes_there:
            raise RuntimeError(f"{name}: expected a 'cuda' generator, got one of the CPU")
        result = func(*args, **kwargs)
        moved = name in ("to", "cuda", "cpu", "as_tensor") and bool(on_device) != goes_there
        if moved and isinstance(result, Tensor) and any(result is tensor for tensor in tensors):
            result = result.clone()  # on a GPU it would be a copy, too
        for tensor in tensors_in(result):
            if goes_there:
                self.marked[tensor] = True
        return result

    def _note_model(self, module: nn.Module, inputs: Any) -> None:
        if isinstance(module, nn.Embedding):  # which every model begins with
            self.read_on.add(module.weight.device.type)

    def _attribute(self, func: Any, name: str, args: Any, tensors: list[Tensor]) -> Any:
        """Tensor.device, .data, .grad and others: their marks are those of their tensor."""
        owner = args[0]
        attribute = getattr(func.__self__, "__name__", "")
        is_there = owner in self.marked
        if name == "__get__":
            if is_there and attribute == "device":
                return DEVICE
            if is_there and attribute == "is_cuda":
                return True
            result = func(*args)
            if is_there:
                self.marked.update({tensor: True for tensor in tensors_in(result)})
            return result
        result = func(*args)
        if attribute == "data":
            if args[1] in self.marked:
                self.marked[owner] = True
            else:
                self.marked.pop(owner, None)
        return result

    def _target(self, name: str, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
        """The device that a call names, or None, and the call without it."""
        target = None
        if kwargs.get("device") is not None:
            target = torch.device(kwargs["device"])
            kwargs["device"] = "cpu"
        if name == "cuda":
            return DEVICE, args, kwargs
        if name == "cpu":
            return torch.device("cpu"), args, kwargs
        if name == "to" and len(args) > 1:
            if isinstance(args[1], str | torch.device):
                target = torch.device(args[1])
                args = (args[0], torch.device("cpu"), *args[2:])
            elif isinstance(args[1], Tensor):  # as another tensor
                target = DEVICE if args[1] in self.marked else torch.device("cpu")
        return target, args, kwargs

    def _refuse_mixed(
        self, name: str, args: Any, tensors: list[Tensor], on_device: list[Tensor]
    ) -> None:
        if not on_device or name in ACROSS:
            return
        if name == "__getitem__" and args[0] in self.marked:
            return  # an index may stand on the CPU
        others = [tensor for tensor in tensors if tensor not in self.marked and tensor.ndim]
        if others:
            raise RuntimeError(
                f"{name}: expected all tensors to be on the same device, got one of "
                f"{tuple(on_device[0].shape)} on cuda:0 and one of {tuple(others[0].shape)} on cpu"
            )


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in nested lists, tuples and dictionaries."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
